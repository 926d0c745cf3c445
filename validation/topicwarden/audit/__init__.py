"""The audit of live contents. The only package that imports pyspark."""
