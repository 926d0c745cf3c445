"""Remember from which offsets on producers certainly knew today's number of partitions.

A producer learns of new partitions after its ``metadata.max.age.ms``, which is 5 minutes by default and which no broker
reports. So a record proves that its producer knew today's number only if it was written a margin after the first audit
that saw this number. Kafka never removes a partition (KIP-195).
"""

from __future__ import annotations

from topicwarden.audit.history.topic_state import PartitionGrowth, TopicState
from topicwarden.kafka.read.snapshot import LiveTopic


def partition_growth(live: LiveTopic, past: TopicState | None, now: int, margin: int) -> PartitionGrowth:
    """Return what audits know of the number of partitions, with this audit at ``now`` (ms).

    ``past`` is the previous state of the same topic. ``margin`` (ms) is how long producers may take to notice new
    partitions. A clock that went backwards starts the time again.
    """
    number = live.topic.partitions
    before = _before(past, number)
    since = before.since if before is not None and before.since <= now else now
    ends = proven_ends(before, number, margin)
    if now - since >= margin:
        ends = {partition: extent.end for partition, extent in live.extents.items()} | ends
    return PartitionGrowth(number, since, margin, ends)


def proven_ends(growth: PartitionGrowth | None, partitions: int, margin: int) -> dict[int, int]:
    """Return, by partition, the offset from which on producers knew all ``partitions``; empty if no audit proved it."""
    same = growth is not None and growth.partitions == partitions and growth.margin >= margin
    return dict(growth.ends) if growth is not None and same else {}


def _before(past: TopicState | None, partitions: int) -> PartitionGrowth | None:
    """Return what earlier audits know of today's number of partitions; None if none of them saw it."""
    if past is None:
        return None
    if past.growth is None:  # the state of an earlier version: the audit saw these partitions, and perhaps others
        return PartitionGrowth(partitions, past.taken_at) if len(past.partitions) == partitions else None
    return past.growth if past.growth.partitions == partitions else None
