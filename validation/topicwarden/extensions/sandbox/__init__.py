"""A local Kafka cluster of real brokers, for trials and for tests."""
