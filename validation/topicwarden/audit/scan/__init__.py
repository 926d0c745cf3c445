"""The Spark scan of the records, and the narrow second reads."""
