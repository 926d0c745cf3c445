"""The protocol of a consequence: one effect that a change may have on live data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.model.planned_change import Consequence
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange


class ConsequenceRule(Protocol):
    """A module with these two functions; its docstring describes the effect, its inputs, and how exact it is.

    ``AVOIDABLE`` is true if its consequences do not occur when the deploy leaves the live settings and partitions as
    they are. The kind of these consequences is the module's name in the table.
    """

    AVOIDABLE: bool

    def needs(self, change: TopicChange, now: int) -> RequiredEvidence | None:
        """Return the evidence that ``evaluate`` needs; None if the rule does not apply to ``change``.

        ``now`` is in milliseconds since the epoch.
        """

    def evaluate(self, change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
        """Return the consequences of ``change``. It is only called if ``needs`` did not return None."""
