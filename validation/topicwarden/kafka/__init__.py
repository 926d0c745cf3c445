"""Everything that talks to a Kafka cluster: connection settings, admin requests, snapshots and consumer groups."""
