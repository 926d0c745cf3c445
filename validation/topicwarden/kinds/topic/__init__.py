"""Topics: how they are written, and which brokers get their partitions."""
