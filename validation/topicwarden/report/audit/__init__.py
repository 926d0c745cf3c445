"""The output formats of an audit report. Each module writes one format."""
