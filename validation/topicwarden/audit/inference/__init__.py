"""Infer the contract of the records of a topic from what all of them have in common. No I/O, and no Spark."""
