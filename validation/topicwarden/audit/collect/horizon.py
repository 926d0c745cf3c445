"""What the broker's own answers prove about a partition before a single record is read.

`ListOffsets` by time yields the *first* offset stamped at or after a time, over all batches. So with
``T`` the largest timestamp of the log and ``p`` the first offset stamped at or after ``T - S``, every
batch before ``p``'s holds only what is more than ``S`` older than a record that came later. As a segment
rolls when a batch comes that is more than ``S`` younger than the segment's first one
(``LogSegment.shouldRoll``), those batches have left the active segment: the roll certificate.

The border is the start of ``p``'s batch, not ``p``: a batch is never split, and one that was back-filled
may span years. A replica that was catching up appends many batches at once, and rolls only between such
appends; where it became the leader since, a segment may reach a little further than is certified here.
So nothing that rests on the certificate alone is called more than ``suspect``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.model.topic import Topic

CLOCK_MS = 5_000
"""For the difference between this machine's clock and the brokers'."""

CHECK_INTERVAL = "log.retention.check.interval.ms"
DEFAULT_CHECK_INTERVAL_MS = 300_000

_UNBOUNDED = 2**63 - 1
"""Kafka's default of ``max.compaction.lag.ms``."""

PartitionOf = tuple[str, int]
"""A topic's name and a partition of it."""


@dataclass(frozen=True)
class Horizon:
    """Borders in one partition's offsets; ``start`` where nothing below can be proven."""

    start: int
    rolled: int
    """Records below have left the active segment."""
    cleanable: int
    """Records below the cleaner may take: rolled, stable, and past ``min.compaction.lag.ms``."""
    held_by: str | None
    """What keeps ``cleanable`` below ``rolled``."""
    overdue: int
    """Records below should have been deleted by time: rolled, expired, and the broker has looked since."""
    unexpired: int | None
    """The first record that ``retention.ms`` still protects; deletion by time stops at its segment."""
    expired_time: int | None
    """Records stamped before this moment (ms) are past ``retention.ms``; None without a retention."""
    future_offset: int | None
    """The first record that is stamped ahead of the clock, and its timestamp (ms)."""
    future_timestamp: int | None
    lagging: int = 0
    """Records below should have been cleaned: cleanable, and older than ``max.compaction.lag.ms`` by a roll."""


def roll_time(topic: Topic) -> int | None:
    """``S``: the longest that a segment stays active once a later record is appended, in milliseconds.

    ``LogConfig.maxSegmentMs`` and, for compacted topics, ``max.compaction.lag.ms`` (KIP-354);
    jitter only shortens it. None where the configuration is not known.
    """
    segment = topic.number("segment.ms")
    lag = topic.number("max.compaction.lag.ms") if topic.compacted else None
    return None if segment is None else min(segment, segment if lag is None else lag)


def compaction_lag(topic: Topic) -> int | None:
    """``max.compaction.lag.ms`` of a compacted topic; None where the cleaner has all the time it wants."""
    lag = topic.number("max.compaction.lag.ms") if topic.compacted else None
    return lag if lag is not None and lag < _UNBOUNDED else None


def horizons(cluster: Cluster, snapshot: Snapshot, topics: Iterable[LiveTopic]) -> dict[PartitionOf, Horizon]:
    """The horizon of every partition that has a leader; twelve requests a broker for all of them.

    Source of the cleaner's border: ``LogCleanerManager.cleanableOffsets``, ``UnifiedLog.nonActiveLogSegmentsFrom``.
    """
    logs = {
        (live.topic.name, partition): (live.topic, extent)
        for live in topics
        for partition, extent in live.extents.items()
    }
    now = snapshot.taken_at
    # Without the brokers' interval everything that has expired is taken for overdue, which is then not decided.
    interval = snapshot.broker_number(CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS) or 0
    roll = {place: _roll_border(topic, extent) for place, (topic, extent) in logs.items()}
    expiry = {place: _expired_time(topic, now, interval) for place, (topic, _) in logs.items()}

    def first_at(times: Mapping[PartitionOf, int]) -> dict[PartitionOf, int]:
        """The first record stamped at or after a time; the log's start where the broker tells of none although the
        largest timestamp says that there may be some (see ``audit/scan/timestamp_borders.py``).
        """
        latest = {place: extent.latest_timestamp for place, (_, extent) in logs.items()}
        untold = {
            place: logs[place][1].start
            for place, at in times.items()
            if (last := latest[place]) is not None and last >= at
        }
        return untold | {place: at for place, (at, _) in cluster.first_offsets_at(times).items()}

    def first_batches_at(times: Mapping[PartitionOf, int]) -> dict[PartitionOf, int]:
        """Where the batch begins that holds the first record stamped at or after a time; the log, where none tells."""
        found = first_at(times)
        starts = cluster.batch_starts(snapshot, found)
        return {place: max(logs[place][1].start, starts.get(place, 0)) for place in found}

    rolled = first_batches_at(_known(roll))
    settled = first_batches_at(
        {
            # The cleaner leaves a segment alone for its youngest record, which may be a roll younger than its first.
            place: now - lag - (roll_time(topic) or 0) - CLOCK_MS
            for place, (topic, _) in logs.items()
            if topic.compacted and (lag := topic.number("min.compaction.lag.ms") or 0) > 0
        }
    )
    overdue = first_batches_at(
        {
            place: min(border, expired - (roll_time(logs[place][0]) or 0))
            for place, border in _known(roll).items()
            if (expired := expiry[place]) is not None
        }
    )
    lagging = first_batches_at(
        {
            place: min(border, now - longest - (roll_time(logs[place][0]) or 0) - CLOCK_MS)
            for place, border in _known(roll).items()
            if (longest := compaction_lag(logs[place][0])) is not None
        }
    )
    open_transactions = {place: log.last_stable for place, (_, log) in logs.items() if log.last_stable < log.end}
    # The cleaner leaves the whole segment alone that holds the first open transaction: everything before the first
    # record that is less than a roll older than that transaction lies in an earlier segment.
    before_transaction = first_batches_at(
        {
            place: stamp - longest
            for place, stamp in cluster.batch_timestamps(snapshot, open_transactions).items()
            if (longest := roll_time(logs[place][0])) is not None
        }
    )
    unexpired = first_at(_known(expiry))
    future = cluster.first_offsets_at(
        {
            place: now + CLOCK_MS
            for place, (_, extent) in logs.items()
            if extent.latest_timestamp is not None and extent.latest_timestamp > now + CLOCK_MS
        }
    )

    def horizon(place: PartitionOf, extent: PartitionExtent) -> Horizon:
        rolled_before = rolled.get(place, extent.start)
        stable = extent.end
        if place in open_transactions:
            stable = min(before_transaction.get(place, extent.start), extent.last_stable)
        borders = {
            "an open transaction": stable,
            "min.compaction.lag.ms": settled.get(place, extent.end),
        }
        holder, held_at = min(borders.items(), key=lambda border: border[1])
        return Horizon(
            start=extent.start,
            rolled=rolled_before,
            cleanable=min(rolled_before, held_at),
            held_by=holder if held_at < rolled_before else None,
            overdue=overdue.get(place, extent.start),
            unexpired=unexpired.get(place),
            expired_time=expiry[place],
            future_offset=future[place][0] if place in future else None,
            future_timestamp=future[place][1] if place in future else None,
            lagging=min(lagging.get(place, extent.start), rolled_before, held_at),
        )

    return {place: horizon(place, extent) for place, (_, extent) in logs.items()}


def _roll_border(topic: Topic, extent: PartitionExtent) -> int | None:
    longest = roll_time(topic)
    if longest is None or extent.latest_timestamp is None:
        return None
    return extent.latest_timestamp - longest


def _expired_time(topic: Topic, now: int, interval: int) -> int | None:
    retention = topic.retention_time
    return None if retention is None else now - retention - interval - CLOCK_MS


def _known(times: Mapping[PartitionOf, int | None]) -> dict[PartitionOf, int]:
    return {place: time for place, time in times.items() if time is not None}
