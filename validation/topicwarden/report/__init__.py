"""Output formats for people and programs. Each module writes one format."""
