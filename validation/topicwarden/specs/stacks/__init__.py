"""Settings of a stack: connection, registry, certificates, scope, and the project file."""
