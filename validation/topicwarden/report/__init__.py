"""What people and machines read of an audit: one file a format."""
