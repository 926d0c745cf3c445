"""The commands: one file each, plain arguments in, exit code out."""
