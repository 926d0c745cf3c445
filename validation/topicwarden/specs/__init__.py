"""YAML to declared topics: ``load`` reads every file, ``resolve`` says what holds on one stack."""
