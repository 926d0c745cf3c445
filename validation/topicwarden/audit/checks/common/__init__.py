"""What several checks compute in the same way."""
