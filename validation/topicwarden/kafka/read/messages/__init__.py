"""Schemas of Kafka's messages that kafka-python lacks, as Kafka's own source has them."""
