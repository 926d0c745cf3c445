"""Copies the records of findings to another topic."""
