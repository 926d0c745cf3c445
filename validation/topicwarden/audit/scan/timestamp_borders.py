"""Find borders by timestamp in the records, if the broker does not report them.

``ListOffsets`` by time searches only one segment: the first whose largest timestamp is late enough. A batch that the
cleaner has emptied keeps its largest timestamp, and so does its segment. If that segment has no such record left, the
broker reports that there is none, even if later segments contain one.

A record without a timestamp (-1) proves nothing. A segment that begins with such a record rolls by the time of its
creation (``LogSegment.timeWaitedForRoll``), and one that has no other records expires by the time of its last write
(``LogSegment.largestTimestamp``). Kafka reports neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import CLOCK_MS, Horizon, TopicPartition
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.offset_ranges import OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection


@dataclass(frozen=True)
class _FoundBorders:
    """The first record with a future timestamp (ms), and the offset of the first record that has not expired."""

    future_offset: int | None
    future_timestamp: int | None
    unexpired: int | None


def resolve_timestamp_borders(
    spark: SparkSource,
    connection: Connection,
    reads: Iterable[PartitionRead],
    counts: Mapping[TopicPartition, PartitionCounts],
    *,
    now: int,
    rate: int | None,
) -> tuple[dict[TopicPartition, Horizon], dict[TopicPartition, PartitionCounts]]:
    """Return corrected horizons and counts of the reads whose records have a border that the broker did not report.

    Only the timestamps of these reads are read again. ``now`` (ms) and ``rate`` (bytes a second) as in ``scan``.
    """
    unresolved = [
        read
        for read in reads
        if read.topic_partition in counts and _has_unreported_border(read.horizon, counts[read.topic_partition], now)
    ]
    if not unresolved:
        return {}, {}
    session = spark()
    tasks = pack_tasks(session, (read.range for read in unresolved))
    found = _find_borders(session, unresolved, read_ranges(session, connection, tasks, rate=rate), now)
    behind_future = {
        offsets.part: replace(offsets, start=future + 1)
        for offsets in (read.range for read in unresolved)
        if (future := found[offsets.part].future_offset) is not None and future + 1 < offsets.end
    }
    limits = {read.range.part: read.horizon.expired_time for read in unresolved}
    expired = _count_expired(session, connection, behind_future, limits, rate)
    horizons = {read.topic_partition: _horizon(read, found[read.range.part]) for read in unresolved}
    corrected = {
        read.topic_partition: replace(
            counts[read.topic_partition], expired_behind_future=expired.get(read.range.part, 0)
        )
        for read in unresolved
    }
    return horizons, corrected


def without_proofs_by_time(
    horizons: Mapping[TopicPartition, Horizon], counts: Mapping[TopicPartition, PartitionCounts]
) -> tuple[dict[TopicPartition, Horizon], dict[TopicPartition, PartitionCounts]]:
    """Return the horizons and counts of partitions with records that have no timestamp, without what ages proved."""
    undated = {partition: each for partition, each in counts.items() if each.undated}
    proved_nothing = {
        partition: replace(horizon, rolled=start, cleanable=start, overdue=start, lagging=start, blocked_by=None)
        for partition, horizon in horizons.items()
        if partition in undated and (start := horizon.start) is not None
    }
    return proved_nothing, {
        partition: replace(
            each,
            rolled=0,
            cleanable=0,
            cleanable_bytes=0,
            superseded_rolled=0,
            superseded_cleanable=0,
            keys_rolled=0,
            keys_cleanable=0,
        )
        for partition, each in undated.items()
    }


def _has_unreported_border(horizon: Horizon, counts: PartitionCounts, now: int) -> bool:
    latest = counts.last_timestamp
    if latest is None:
        return False
    future = horizon.future_offset is None and latest > now + CLOCK_MS
    expiry = horizon.expired_time
    return future or (expiry is not None and horizon.unexpired is None and latest >= expiry)


def _find_borders(
    spark: SparkSession, reads: list[PartitionRead], records: DataFrame, now: int
) -> dict[int, _FoundBorders]:
    rows = [{"part": read.range.part, "expired_time": read.horizon.expired_time} for read in reads]
    limits = F.broadcast(literal(spark, rows, "part int, expired_time long"))
    in_future, unexpired = F.col("time") > now + CLOCK_MS, F.col("time") >= F.col("expired_time")
    firsts = (
        records.select("part", "offset", "time")
        .join(limits, "part")
        .groupBy("part")
        .agg(
            F.min(F.when(in_future, F.struct("offset", "time"))).alias("future"),
            F.min(F.when(unexpired, F.col("offset"))).alias("unexpired"),
        )
    )
    found = {read.range.part: _FoundBorders(None, None, None) for read in reads}
    for row in firsts.collect():
        future = row["future"]
        found[row["part"]] = _FoundBorders(
            future["offset"] if future else None, future["time"] if future else None, row["unexpired"]
        )
    return found


def _count_expired(
    spark: SparkSession,
    connection: Connection,
    ranges: Mapping[int, OffsetRange],
    limits: Mapping[int, int | None],
    rate: int | None,
) -> dict[int, int]:
    """Return the number of expired records in each range, by the number of the read."""
    rows = [{"part": number, "expired_time": limit} for number in ranges if (limit := limits[number]) is not None]
    if not rows:
        return {}
    selected = [ranges[row["part"]] for row in rows if row["part"] is not None]
    expiry = F.broadcast(literal(spark, rows, "part int, expired_time long"))
    records = read_ranges(spark, connection, pack_tasks(spark, selected), rate=rate)
    timed = records.select("part", "time").join(expiry, "part")
    counted = (
        timed.where((F.col("time") >= 0) & (F.col("time") < F.col("expired_time"))).groupBy("part").count().collect()
    )
    return {row["part"]: row["count"] for row in counted}


def _horizon(read: PartitionRead, found: _FoundBorders) -> Horizon:
    """Return the horizon of ``read`` with the borders that were found.

    If the log was not read from its start, ``retention.ms`` may protect any earlier record.
    """
    horizon = read.horizon
    whole = read.range.start <= horizon.start
    future_reported = horizon.future_offset is not None
    return replace(
        horizon,
        unexpired=None if horizon.expired_time is None else found.unexpired if whole else horizon.start,
        future_offset=horizon.future_offset if future_reported else found.future_offset,
        future_timestamp=horizon.future_timestamp if future_reported else found.future_timestamp,
    )
