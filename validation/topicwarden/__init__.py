"""Declare Kafka topics in YAML, deploy them with Pulumi, audit their live contents with Spark."""

__version__ = "0.1.0"
