"""Reads the authorizer logs of brokers with Spark."""
