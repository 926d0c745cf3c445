"""The checks of ACLs in an audit."""
