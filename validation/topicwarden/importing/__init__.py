"""Adopt live topics: YAML files for topics that nobody has declared."""
