"""A real Kafka cluster and Pulumi on one machine, for trying out and for tests."""
