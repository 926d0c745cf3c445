"""The commands: one module for each. A command takes plain arguments and returns the exit code."""
