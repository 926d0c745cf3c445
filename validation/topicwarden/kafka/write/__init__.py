"""Requests that change a cluster."""
