"""What a module of this package is: one thing that may follow from a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.model.planned_change import Consequence
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange


class ConsequenceRule(Protocol):
    """A module with these two functions; its docstring says what it foretells, from what, and how exactly.

    ``AVOIDABLE`` is true if its consequences do not happen when the deploy leaves the live settings and partitions as
    they are. The kind of these consequences is the module's name in the table.
    """

    AVOIDABLE: bool

    def needs(self, change: TopicChange, now: int) -> RequiredEvidence | None:
        """What it needs to see (``now`` in milliseconds); None where the change is none of its business."""

    def evaluate(self, change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
        """What follows; called only where ``needs`` gave something."""
