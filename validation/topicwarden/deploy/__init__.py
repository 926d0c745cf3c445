"""The Pulumi program, its components, and the language host for a Pulumi that has none."""
