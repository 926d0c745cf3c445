"""The Spark scan that counts all records, and the second reads of small offset ranges."""
