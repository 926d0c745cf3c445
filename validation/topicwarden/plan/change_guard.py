"""The consequences that are judged from a context, their rows of the page of guards, and the allowances they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange

Context_contra = TypeVar("Context_contra", contravariant=True)


@dataclass(frozen=True)
class ChangeGuard:
    """A change, the words that allow it (without, nothing does), and why it is reported.

    ``consequence`` is the kind of the consequence if it is not that of its module.
    """

    change: str
    allow: tuple[AllowedChange, ...]
    why: str
    consequence: str = ""


class GuardedConsequence(Protocol[Context_contra]):
    """A module with these names; its docstring describes the effect, its inputs, and how exact it is.

    ``KIND`` is the kind of its consequences, and ``GUARDS`` has their rows of the page of all guards.
    """

    KIND: str
    GUARDS: tuple[ChangeGuard, ...]

    def evaluate(self, context: Context_contra, /) -> Iterable[Consequence]:
        """Return the consequences of the change in ``context``."""


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
