"""Verdicts of audits for data catalogues, as OpenLineage events."""
