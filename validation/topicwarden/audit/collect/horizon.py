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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.model.topic import Topic

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster

CLOCK_MS = 5_000
"""The tolerated difference between the clocks of this machine and the brokers, in milliseconds."""

CHECK_INTERVAL = "log.retention.check.interval.ms"
_DEFAULT_CHECK_INTERVAL_MS = 300_000

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


NO_BORDERS: Final = Horizon(
    start=0,
    rolled=0,
    cleanable=0,
    blocked_by=None,
    overdue=0,
    unexpired=None,
    expired_time=None,
    future_offset=None,
    future_timestamp=None,
)
"""The horizon of a partition about which nothing is proven."""


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


def check_interval_ms(snapshot: Snapshot) -> int | None:
    """Return ``log.retention.check.interval.ms`` of the brokers; None if their settings are not visible."""
    return snapshot.broker_number(CHECK_INTERVAL, _DEFAULT_CHECK_INTERVAL_MS)


def expired_time(topic: Topic, snapshot: Snapshot) -> int | None:
    """Return the time (ms) before which records are past ``retention.ms``, and the brokers have checked that since.

    None without time-based retention. If the brokers' interval is unknown, it counts as 0, and the checks decide
    nothing.
    """
    retention = topic.retention_time
    return None if retention is None else snapshot.taken_at - retention - (check_interval_ms(snapshot) or 0) - CLOCK_MS


def horizons(cluster: Cluster, snapshot: Snapshot, topics: Iterable[LiveTopic]) -> dict[TopicPartition, Horizon]:
    """Return the horizon of every partition that has a leader; this takes thirteen requests for each broker.

    Each step selects a time for each partition, and asks the brokers what begins there:

    1. ``rolled``: the first batch that may be in the active segment.
    2. ``past_lag``: the first batch that may be within ``min.compaction.lag.ms``.
    3. ``overdue``: the first batch whose segment may be active, or not expired.
    4. ``lagging``: the first batch whose segment may be active, or within ``max.compaction.lag.ms``.
    5. ``stable``: the first offset whose segment may contain an open transaction.
    6. ``unexpired``: the first record that ``retention.ms`` protects.
    7. ``future``: the first record with a timestamp ahead of the clock.

    Offsets may hold no record: those of transaction markers, and those that a compaction left. A border at or before
    the first record of the log is the log start, because nothing is before it.

    Source of the cleaner's border: ``LogCleanerManager.cleanableOffsets``, ``UnifiedLog.nonActiveLogSegmentsFrom``.
    """
    logs = {
        (live.topic.name, number): _Log(live.topic, extent, snapshot)
        for live in topics
        for number, extent in live.extents.items()
    }
    borders = _BorderSearch(cluster, snapshot, logs)
    rolled = borders.first_batches_at(borders.times(_roll_border))
    past_lag = borders.first_batches_at(borders.times(_min_lag_border))
    overdue = borders.first_batches_at(borders.times(_overdue_border))
    lagging = borders.first_batches_at(borders.times(_max_lag_border))
    stable = borders.stable()
    unexpired = borders.first_offsets_at(borders.times(_expiry_border))
    future = cluster.first_offsets_at(borders.times(_future_border))
    first_records = cluster.first_offsets_at(dict.fromkeys(logs, 0))

    def horizon(partition: TopicPartition, log: _Log) -> Horizon:
        start, end = log.extent.start, log.extent.end
        first, _ = first_records.get(partition, (None, None))

        def border(offset: int) -> int:
            return start if first is not None and offset <= first else offset

        rolled_before = border(rolled.get(partition, start))
        limits = {
            "an open transaction": stable.get(partition, end),
            "min.compaction.lag.ms": past_lag.get(partition, end),
        }
        reason, limit = min(limits.items(), key=lambda item: item[1])
        limit = border(limit)
        future_offset, future_timestamp = future.get(partition, (None, None))
        return Horizon(
            start=start,
            rolled=rolled_before,
            cleanable=min(rolled_before, limit),
            blocked_by=reason if limit < rolled_before else None,
            overdue=start if first is None else border(overdue.get(partition, start)),
            unexpired=unexpired.get(partition),
            expired_time=_expiry_border(log),
            future_offset=future_offset,
            future_timestamp=future_timestamp,
            lagging=min(border(lagging.get(partition, start)), rolled_before, limit),
        )

    return {partition: horizon(partition, log) for partition, log in logs.items()}


@dataclass(frozen=True)
class _Log:
    """The log of one partition."""

    topic: Topic
    extent: PartitionExtent
    snapshot: Snapshot


@dataclass(frozen=True)
class _BorderSearch:
    """Asks the brokers which offsets begin at a time."""

    cluster: Cluster
    snapshot: Snapshot
    logs: Mapping[TopicPartition, _Log]

    def times(self, border: Callable[[_Log], int | None]) -> dict[TopicPartition, int]:
        """Return the time of a border (ms), by partition; without partitions that have no such border."""
        return {partition: time for partition, log in self.logs.items() if (time := border(log)) is not None}

    def first_offsets_at(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offset of the first record with a timestamp at or after a time, by partition.

        The broker may report no such record although the largest timestamp allows some
        (see ``audit/scan/timestamp_borders.py``). The offset is then the log start.
        """
        possible = {
            partition: self.logs[partition].extent.start
            for partition, time in times.items()
            if (last := self.logs[partition].extent.latest_timestamp) is not None and last >= time
        }
        reported = self.cluster.first_offsets_at(times)
        return possible | {partition: offset for partition, (offset, _) in reported.items()}

    def first_batches_at(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the start of the batch that contains the first record with a timestamp at or after a time.

        If the broker does not report the batch, this is the log start.
        """
        found = self.first_offsets_at(times)
        starts = self.cluster.batch_starts(self.snapshot, found)
        return {partition: max(self.logs[partition].extent.start, starts.get(partition, 0)) for partition in found}

    def stable(self) -> dict[TopicPartition, int]:
        """Return where the cleaner stops because of an open transaction, for the partitions that have one.

        The cleaner skips the whole segment that contains the first open transaction. Every record before the first one
        that is less than a roll time older than that transaction is in an earlier segment.
        """
        open_transactions = {
            partition: log.extent.last_stable
            for partition, log in self.logs.items()
            if log.extent.last_stable < log.extent.end
        }
        began = self.cluster.batch_timestamps(self.snapshot, open_transactions)
        before = self.first_batches_at(
            {
                partition: timestamp - longest
                for partition, timestamp in began.items()
                if (longest := roll_time(self.logs[partition].topic)) is not None
            }
        )
        return {
            partition: min(before.get(partition, self.logs[partition].extent.start), last_stable)
            for partition, last_stable in open_transactions.items()
        }


def _roll_border(log: _Log) -> int | None:
    longest, latest = roll_time(log.topic), log.extent.latest_timestamp
    return None if longest is None or latest is None else latest - longest


def _min_lag_border(log: _Log) -> int | None:
    """Return the border of ``min.compaction.lag.ms``.

    The youngest record of a segment holds the cleaner back; it may be one roll time younger than the first.
    """
    lag = log.topic.number("min.compaction.lag.ms") or 0
    if not log.topic.compacted or lag <= 0:
        return None
    return log.snapshot.taken_at - lag - (roll_time(log.topic) or 0) - CLOCK_MS


def _overdue_border(log: _Log) -> int | None:
    rolled, expired = _roll_border(log), _expiry_border(log)
    return None if rolled is None or expired is None else min(rolled, expired - (roll_time(log.topic) or 0))


def _max_lag_border(log: _Log) -> int | None:
    rolled, lag = _roll_border(log), compaction_lag(log.topic)
    if rolled is None or lag is None:
        return None
    return min(rolled, log.snapshot.taken_at - lag - (roll_time(log.topic) or 0) - CLOCK_MS)


def _expiry_border(log: _Log) -> int | None:
    return expired_time(log.topic, log.snapshot)


def _future_border(log: _Log) -> int | None:
    border, latest = log.snapshot.taken_at + CLOCK_MS, log.extent.latest_timestamp
    return border if latest is not None and latest > border else None
