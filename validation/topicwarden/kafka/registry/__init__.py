"""Subjects in a Schema Registry, through Confluent's REST API: what is there, and changes to it."""
