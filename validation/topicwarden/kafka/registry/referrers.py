"""The subjects that refer to a subject."""

from __future__ import annotations

from topicwarden.kafka.registry.client import RegistryClient


def referrers(client: RegistryClient, subject: str, version: int) -> tuple[str, ...]:
    """Return the other subjects that are not deleted and refer to this version, sorted. Raises RegistryError."""
    ids = client.get("subjects", subject, "versions", str(version), "referencedby")
    if not isinstance(ids, list):
        raise client.unknown_form("a list of schema ids")
    found: set[str] = set()
    for id in ids:
        uses = client.get("schemas", "ids", str(id), "versions")
        found |= {str(use["subject"]) for use in uses if isinstance(use, dict) and "subject" in use}
    return tuple(sorted(found - {subject}))
