"""The output formats of a command on several stacks. Each module writes one format."""
