"""Records in Pulumi's state what a YAML file allowed at the last deploy, and reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from topicwarden.model.topic import Allowance, AllowedChange


def recorded_allowances(allow: Iterable[Allowance]) -> list[dict[str, str]]:
    """Return ``allow`` as the state records it."""
    return [
        {"change": allowance.change.value} | ({"until": allowance.until.isoformat()} if allowance.until else {})
        for allowance in sorted(allow, key=lambda allowance: allowance.change.value)
    ]


def allowances(records: Iterable[Mapping[str, str]]) -> frozenset[Allowance]:
    """Return the allowances that ``recorded_allowances`` has recorded."""
    return frozenset(
        Allowance(AllowedChange(record["change"]), date.fromisoformat(record["until"]) if "until" in record else None)
        for record in records
    )
