"""The arguments of each command, with their help.

Each command imports its module when it is called, so that `check` starts no JVM and does not import Pulumi.
"""
