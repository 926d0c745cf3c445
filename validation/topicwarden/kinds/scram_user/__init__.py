"""Users with SCRAM credentials."""
