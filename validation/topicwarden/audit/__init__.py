"""The audit of live contents. The only room that imports pyspark."""
