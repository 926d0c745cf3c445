"""Contracts that the reader judges records by."""
