"""Writes the report of `topicwarden doctor`; one module for each format."""
