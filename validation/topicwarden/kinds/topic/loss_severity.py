"""Severity and remedy of losses: a loss that the YAML does not allow by name is refused, and so is an unseen loss."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import shorten


def severity_of(change: TopicChange, allowance: AllowedChange) -> Severity:
    """Return ``REFUSED``, or ``DANGER`` if the topic's YAML allows the loss by name."""
    return Severity.DANGER if change.allows(allowance) else Severity.REFUSED


def remedy_of(change: TopicChange, allowance: AllowedChange, instead: str) -> str:
    """Return the remedy for a refused loss: do ``instead``, or allow the loss; empty if the loss is allowed."""
    if change.allows(allowance):
        return ""
    return f"{instead}; if the loss is intended, write {allowance.line} into the topic's YAML"


def unseen_partitions(live: LiveTopic) -> list[int]:
    """Return the partitions without a leader: their records cannot be seen, and never count as none."""
    return [state.partition for state in live.replicas if state.partition not in live.extents]


def unseen_reasons(live: LiveTopic) -> Iterable[str]:
    """Yield one reason if partitions could not be seen, with the brokers that have their replicas."""
    missing = unseen_partitions(live)
    if not missing:
        return
    brokers = sorted({broker for state in live.replicas if state.partition in missing for broker in state.replicas})
    yield (
        f"{counted(len(missing), 'partition')} ({shorten([str(number) for number in missing])}) without a leader: the "
        f"records there could not be seen, and may be lost as well; start broker {' or '.join(map(str, brokers))}, "
        "then plan again"
    )
