"""The check of SCRAM users in an audit."""
