"""The check of quotas in an audit."""
