"""Verdicts of audits for data catalogues: OpenLineage events, and assertions of DataHub."""
