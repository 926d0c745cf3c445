"""Refuses changes that nobody can judge, because the cluster or the registry does not show what is there now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from topicwarden.model.message_text import counted, first_lines
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.problem import Location

_MOST: Final = 5


def unjudged(
    kind: str, plural: str, changes: Sequence[tuple[str, Location | None]], reason: str, remedy: str
) -> Consequence:
    """Return the refusal of ``changes``, each in words with its location, of entries of one kind, such as ``ACLs``."""
    return Consequence(
        kind=kind,
        severity=Severity.REFUSED,
        message=f"{counted(len(changes), 'change')} of {plural} cannot be judged: {reason}",
        because=first_lines([text for text, _ in changes], _MOST),
        measured=f"the {plural} of Pulumi's state and of the YAML only",
        remedy=remedy,
        location=next((location for _, location in changes if location), None),
    )
