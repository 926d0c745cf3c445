"""What a module of this package is: one thing that may follow from a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.model.planned_change import Consequence
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange


class ConsequenceRule(Protocol):
    """A module with these two functions; its docstring says what it foretells, from what, and how exactly."""

    def needs(self, change: TopicChange, now: int) -> RequiredEvidence | None:
        """What it needs to see (``now`` in milliseconds); None where the change is none of its business."""

    def evaluate(self, change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
        """What follows; called only where ``needs`` gave something."""
