"""Kafka's settings of groups."""
