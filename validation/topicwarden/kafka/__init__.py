"""The only room that talks to a Kafka cluster."""
