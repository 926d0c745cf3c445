"""What a module of this package is: one thing that may follow from a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.change import Consequence
from topicwarden.plan.change import Change
from topicwarden.plan.evidence import Asks, Evidence


class Foreteller(Protocol):
    """A module with these two functions; its docstring says what it foretells, from what, and how exactly."""

    def asks(self, change: Change, now: int) -> Asks | None:
        """What it needs to see (``now`` in milliseconds); None where the change is none of its business."""

    def foretell(self, change: Change, evidence: Evidence) -> Iterable[Consequence]:
        """What follows; called only where ``asks`` gave something."""
