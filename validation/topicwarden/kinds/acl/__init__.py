"""Access control lists (ACLs)."""
