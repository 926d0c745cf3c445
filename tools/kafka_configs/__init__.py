"""Generates the catalogue of Kafka's configurations, which the package contains."""
