"""Consumer groups by topic, so that nobody searches all groups for each topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup


def groups_by_topic(groups: Iterable[ConsumerGroup]) -> dict[str, tuple[ConsumerGroup, ...]]:
    """Return the groups of each topic that one of them reads or has committed offsets for, in the given order."""
    found: dict[str, list[ConsumerGroup]] = {}
    for group in groups:
        for topic in group.topics:
            found.setdefault(topic, []).append(group)
    return {topic: tuple(each) for topic, each in found.items()}
