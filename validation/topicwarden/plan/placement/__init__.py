"""Placement of replicas on brokers: as declared, spread over racks, with balanced load."""
