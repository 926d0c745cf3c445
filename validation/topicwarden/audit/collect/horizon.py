"""Borders in the offsets of a partition that the broker's answers prove before any record is read.

``ListOffsets`` by time returns the *first* offset with a timestamp at or after a time, over all batches. Let ``T`` be
the largest timestamp of the log, and ``S`` the longest time until a segment rolls. Let ``p`` be the first offset with a
timestamp at or after ``T - S``. Every batch before the batch of ``p`` only has records more than ``S`` older than a
later record. A segment rolls when a batch arrives that is more than ``S`` younger than the first batch of the segment
(``LogSegment.shouldRoll``). So all batches before the batch of ``p`` have left the active segment. This proof is called
the roll certificate.

The border is the start of the batch of ``p``, not ``p``: a batch is never split, and a back-filled batch may span
years. A replica that catches up appends many batches at once, and rolls only between such appends. If that replica has
become the leader, a segment may reach a little further than this border. So a verdict that rests on the roll
certificate alone is never more than ``suspect``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.model.topic import Topic

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster

CLOCK_MS = 5_000
"""The tolerated difference between the clocks of this machine and the brokers, in milliseconds."""

CHECK_INTERVAL = "log.retention.check.interval.ms"
DEFAULT_CHECK_INTERVAL_MS = 300_000

_UNBOUNDED = 2**63 - 1
"""Kafka's default of ``max.compaction.lag.ms``."""

TopicPartition = tuple[str, int]
"""A topic name and a partition number."""


@dataclass(frozen=True)
class Horizon:
    """Borders in the offsets of one partition. A border is ``start`` if nothing can be proven."""

    start: int
    """The log start offset."""
    rolled: int
    """Records before this offset have left the active segment."""
    cleanable: int
    """The cleaner may clean records before this offset: rolled, stable, and past ``min.compaction.lag.ms``."""
    blocked_by: str | None
    """The reason why ``cleanable`` is lower than ``rolled``."""
    overdue: int
    """Records before this offset should have been deleted by time.

    They are rolled and expired, and the broker has checked retention since.
    """
    unexpired: int | None
    """The offset of the first record that ``retention.ms`` still protects; deletion by time stops at its segment."""
    expired_time: int | None
    """Records with an earlier timestamp (ms) are past ``retention.ms``; None without time-based retention."""
    future_offset: int | None
    """The offset of the first record whose timestamp is ahead of the clock."""
    future_timestamp: int | None
    """The timestamp of that record, in milliseconds."""
    lagging: int = 0
    """Records before this offset should have been cleaned.

    They are cleanable, and older than ``max.compaction.lag.ms`` by a segment roll time.
    """


def roll_time(topic: Topic) -> int | None:
    """Return ``S``, the longest time in ms that a segment stays active after a later record is appended.

    This is ``LogConfig.maxSegmentMs`` and, for compacted topics, ``max.compaction.lag.ms`` (KIP-354). Jitter only
    shortens the time. None if the topic's configuration is unknown.
    """
    segment = topic.number("segment.ms")
    lag = topic.number("max.compaction.lag.ms") if topic.compacted else None
    return None if segment is None else min(segment, segment if lag is None else lag)


def compaction_lag(topic: Topic) -> int | None:
    """Return ``max.compaction.lag.ms`` of a compacted topic; None if the cleaner has no time limit."""
    lag = topic.number("max.compaction.lag.ms") if topic.compacted else None
    return lag if lag is not None and lag < _UNBOUNDED else None


def horizons(cluster: Cluster, snapshot: Snapshot, topics: Iterable[LiveTopic]) -> dict[TopicPartition, Horizon]:
    """Return the horizon of every partition that has a leader; this takes twelve requests for each broker.

    Source of the cleaner's border: ``LogCleanerManager.cleanableOffsets``, ``UnifiedLog.nonActiveLogSegmentsFrom``.
    """
    logs = {
        (live.topic.name, number): (live.topic, extent) for live in topics for number, extent in live.extents.items()
    }
    now = snapshot.taken_at
    # If the brokers' interval is unknown, every expired record counts as overdue, and the checks decide nothing.
    interval = snapshot.broker_number(CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS) or 0
    roll = {partition: _roll_border(topic, extent) for partition, (topic, extent) in logs.items()}
    expiry = {partition: _expired_time(topic, now, interval) for partition, (topic, _) in logs.items()}

    def first_at(times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offset of the first record with a timestamp at or after a time, by partition.

        The broker may report no such record although the largest timestamp allows some
        (see ``audit/scan/timestamp_borders.py``). The offset is then the log start.
        """
        latest = {partition: extent.latest_timestamp for partition, (_, extent) in logs.items()}
        possible = {
            partition: logs[partition][1].start
            for partition, time in times.items()
            if (last := latest[partition]) is not None and last >= time
        }
        return possible | {partition: offset for partition, (offset, _) in cluster.first_offsets_at(times).items()}

    def first_batches_at(times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the start of the batch that contains the first record with a timestamp at or after a time.

        If the broker does not report the batch, this is the log start.
        """
        found = first_at(times)
        starts = cluster.batch_starts(snapshot, found)
        return {partition: max(logs[partition][1].start, starts.get(partition, 0)) for partition in found}

    rolled = first_batches_at(_known(roll))
    past_lag = first_batches_at(
        {
            # The youngest record of a segment holds the cleaner back; it may be one roll time younger than the first.
            partition: now - lag - (roll_time(topic) or 0) - CLOCK_MS
            for partition, (topic, _) in logs.items()
            if topic.compacted and (lag := topic.number("min.compaction.lag.ms") or 0) > 0
        }
    )
    overdue = first_batches_at(
        {
            partition: min(border, expired - (roll_time(logs[partition][0]) or 0))
            for partition, border in _known(roll).items()
            if (expired := expiry[partition]) is not None
        }
    )
    lagging = first_batches_at(
        {
            partition: min(border, now - max_lag - (roll_time(logs[partition][0]) or 0) - CLOCK_MS)
            for partition, border in _known(roll).items()
            if (max_lag := compaction_lag(logs[partition][0])) is not None
        }
    )
    open_transactions = {
        partition: extent.last_stable for partition, (_, extent) in logs.items() if extent.last_stable < extent.end
    }
    # The cleaner skips the whole segment that contains the first open transaction. Every record before the first one
    # that is less than a roll time older than that transaction is in an earlier segment.
    before_transaction = first_batches_at(
        {
            partition: timestamp - longest
            for partition, timestamp in cluster.batch_timestamps(snapshot, open_transactions).items()
            if (longest := roll_time(logs[partition][0])) is not None
        }
    )
    unexpired = first_at(_known(expiry))
    future = cluster.first_offsets_at(
        {
            partition: now + CLOCK_MS
            for partition, (_, extent) in logs.items()
            if extent.latest_timestamp is not None and extent.latest_timestamp > now + CLOCK_MS
        }
    )

    def horizon(partition: TopicPartition, extent: PartitionExtent) -> Horizon:
        rolled_before = rolled.get(partition, extent.start)
        stable = extent.end
        if partition in open_transactions:
            stable = min(before_transaction.get(partition, extent.start), extent.last_stable)
        limits = {
            "an open transaction": stable,
            "min.compaction.lag.ms": past_lag.get(partition, extent.end),
        }
        reason, limit = min(limits.items(), key=lambda item: item[1])
        return Horizon(
            start=extent.start,
            rolled=rolled_before,
            cleanable=min(rolled_before, limit),
            blocked_by=reason if limit < rolled_before else None,
            overdue=overdue.get(partition, extent.start),
            unexpired=unexpired.get(partition),
            expired_time=expiry[partition],
            future_offset=future[partition][0] if partition in future else None,
            future_timestamp=future[partition][1] if partition in future else None,
            lagging=min(lagging.get(partition, extent.start), rolled_before, limit),
        )

    return {partition: horizon(partition, extent) for partition, (_, extent) in logs.items()}


def _roll_border(topic: Topic, extent: PartitionExtent) -> int | None:
    longest = roll_time(topic)
    if longest is None or extent.latest_timestamp is None:
        return None
    return extent.latest_timestamp - longest


def _expired_time(topic: Topic, now: int, interval: int) -> int | None:
    retention = topic.retention_time
    return None if retention is None else now - retention - interval - CLOCK_MS


def _known(times: Mapping[TopicPartition, int | None]) -> dict[TopicPartition, int]:
    return {partition: time for partition, time in times.items() if time is not None}
