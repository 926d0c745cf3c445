"""Move replicas to where the YAML declares them: placement, reassignment and throttle."""
