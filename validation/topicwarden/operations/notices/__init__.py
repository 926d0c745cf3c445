"""Notifications about what changed between audits, delivered in order to the receivers that a stack declares."""
