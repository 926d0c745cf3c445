"""The protocol of the consequences that are judged from a context, and their rows of the page of all guards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from topicwarden.model.planned_change import Consequence
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
