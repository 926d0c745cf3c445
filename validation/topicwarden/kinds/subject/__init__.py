"""Subjects of a Schema Registry: not on the cluster, so not in the table of kinds of access."""
