"""The formats of an audit report: one file a format."""
