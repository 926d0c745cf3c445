"""Partitioners, and the placement of keys."""
