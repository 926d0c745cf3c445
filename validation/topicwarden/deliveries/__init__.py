"""Payloads for receivers outside: durable queues, the threads that deliver them, and POST requests."""
