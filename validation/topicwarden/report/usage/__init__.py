"""Formats of the report about the use of topics."""
