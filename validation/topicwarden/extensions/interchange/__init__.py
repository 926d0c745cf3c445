"""Import live topics that are not declared yet: write their YAML files, for adoption into Pulumi's state."""
