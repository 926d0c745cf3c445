"""The dangers of a deploy, as `pulumi up` and the policy pack say them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.model.planned_change import Severity, TopicPlan

MOST: Final = 100
"""Lines for one deploy; how many more there are is said in one more line."""

_OF_REBALANCE: Final = "replication-factor"


def dangers(plans: Iterable[TopicPlan], stack: str) -> list[str]:
    """Return a line for each danger, sorted by topic; also for replicas that a deploy leaves to `rebalance`."""
    lines = sorted(
        f"{plan.topic}: {' '.join(consequence.message.split())} [{consequence.kind}]"
        for plan in plans
        for consequence in plan.consequences
        if consequence.weight is Severity.DANGER or consequence.kind == _OF_REBALANCE
    )
    more = len(lines) - MOST
    if more > 0:
        lines[MOST:] = [f"and {more:,} more: see `topicwarden plan --stack {stack}`"]
    return lines
