"""Scenarios for the topics of the example project, for the demo and for tests: records, faults, a lost broker."""
