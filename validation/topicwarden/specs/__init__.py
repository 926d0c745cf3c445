"""Declared topics from YAML: ``load`` reads every file, ``resolve`` returns the topics of one stack."""
