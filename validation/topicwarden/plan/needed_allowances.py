"""Determines which allowances a change needs: without each of them, more of its consequences would be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange


def needed_allowances(
    allowed: Mapping[str, frozenset[AllowedChange]],
    consequences: Iterable[Consequence],
    consequences_if: Callable[[str, frozenset[AllowedChange]], Iterable[Consequence]],
) -> frozenset[tuple[str, AllowedChange]]:
    """Return the allowances in ``allowed`` that are needed, each with the topic, file or subject that has it.

    ``consequences`` are those of the change as it is allowed. ``consequences_if`` returns them for a topic, file or
    subject that would only allow the given changes.
    """
    refused = _refused(consequences)
    return frozenset(
        (home, word)
        for home, words in allowed.items()
        for word in words
        if _refused(consequences_if(home, words - {word})) > refused
    )


def _refused(consequences: Iterable[Consequence]) -> int:
    return sum(consequence.severity is Severity.REFUSED for consequence in consequences)
