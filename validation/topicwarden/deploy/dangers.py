"""The dangers of a deploy, as lines for `pulumi up` and the policy pack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.model.planned_change import Severity, TopicPlan

MOST: Final = 100
"""Largest number of dangers listed for a deploy; one more line counts the others."""

_BY_REBALANCE: Final = "replication-factor"


def dangers(plans: Iterable[TopicPlan], stack: str) -> list[str]:
    """Return a line for each danger, sorted by topic, including replicas that a deploy leaves to `rebalance`."""
    lines = sorted(
        f"{plan.topic}: {' '.join(consequence.message.split())} [{consequence.kind}]"
        for plan in plans
        for consequence in plan.consequences
        if consequence.severity is Severity.DANGER or consequence.kind == _BY_REBALANCE
    )
    more = len(lines) - MOST
    if more > 0:
        lines[MOST:] = [f"and {more:,} more: see `topicwarden plan --stack {stack}`"]
    return lines
