"""Contracts that records are judged by, and which findings concern committed records."""
