"""The check of client metrics in an audit."""
