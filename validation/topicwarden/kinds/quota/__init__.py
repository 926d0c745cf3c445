"""Quotas of users, clients and addresses."""
