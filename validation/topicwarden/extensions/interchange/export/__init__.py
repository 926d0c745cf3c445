"""Write declared topics as documents of other standards."""
