"""Facts about Kafka and its services: configuration definitions, limits, profiles, names."""
