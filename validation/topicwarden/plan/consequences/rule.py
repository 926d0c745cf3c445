"""What a module of this package is: one thing that may follow from a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.change import Consequence
from topicwarden.plan.change import Change
from topicwarden.plan.evidence import Evidence, Needs


class ConsequenceRule(Protocol):
    """A module with these two functions; its docstring says what it foretells, from what, and how exactly."""

    def needs(self, change: Change, now: int) -> Needs | None:
        """What it needs to see (``now`` in milliseconds); None where the change is none of its business."""

    def evaluate(self, change: Change, evidence: Evidence) -> Iterable[Consequence]:
        """What follows; called only where ``needs`` gave something."""
