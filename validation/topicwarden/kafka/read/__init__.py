"""Reads of a cluster. Nothing here changes it."""
