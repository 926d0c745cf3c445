"""Moves of replicas between brokers: what to move, the reassignments, and their throttle."""
