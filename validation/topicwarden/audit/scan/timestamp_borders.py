"""The borders that timestamps draw, read from the records where the broker does not tell them.

``ListOffsets`` by time looks into one segment alone: the first whose largest timestamp is late enough. A batch that the
cleaner has emptied keeps its largest timestamp, and so does its segment. If that segment has no such record left, the
broker answers that there is none, whatever later segments hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import CLOCK_MS, Horizon, PartitionOf
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.audit.scan.offset_ranges import OffsetRange, pack, read
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.connection import Connection


@dataclass(frozen=True)
class _Found:
    """The first record stamped in the future, with its timestamp (ms), and the first that has not expired."""

    future_offset: int | None
    future_timestamp: int | None
    unexpired: int | None


def settled_stamps(
    spark: SparkSession,
    connection: Connection,
    parts: Iterable[PartitionRead],
    counts: Mapping[PartitionOf, PartitionCounts],
    *,
    now: int,
    rate: int | None = None,
) -> tuple[dict[PartitionOf, Horizon], dict[PartitionOf, PartitionCounts]]:
    """Return the horizons and counts of the parts of which the broker did not tell a border that the records have.

    Reads the timestamps of these again, and nothing where the broker told. ``now`` and ``rate`` as in ``scan``.
    """
    held = [part for part in parts if part.place in counts and _untold(part.horizon, counts[part.place], now)]
    if not held:
        return {}, {}
    found = _found(spark, held, read(spark, connection, pack(spark, (part.range for part in held)), rate=rate), now)
    behind = {
        one.part: replace(one, start=at + 1)
        for one in (part.range for part in held)
        if (at := found[one.part].future_offset) is not None and at + 1 < one.end
    }
    expired = _expired(spark, connection, behind, {part.range.part: part.horizon.expired_time for part in held}, rate)
    horizons = {part.place: _horizon(part, found[part.range.part]) for part in held}
    counted = {
        part.place: replace(counts[part.place], expired_behind_future=expired.get(part.range.part, 0)) for part in held
    }
    return horizons, counted


def _untold(horizon: Horizon, counts: PartitionCounts, now: int) -> bool:
    latest = counts.last_timestamp
    if latest is None:
        return False
    future = horizon.future_offset is None and latest > now + CLOCK_MS
    expiry = horizon.expired_time
    return future or (expiry is not None and horizon.unexpired is None and latest >= expiry)


def _found(spark: SparkSession, parts: list[PartitionRead], records: DataFrame, now: int) -> dict[int, _Found]:
    rows = [{"part": part.range.part, "expired_time": part.horizon.expired_time} for part in parts]
    limits = F.broadcast(literal(spark, rows, "part int, expired_time long"))
    ahead, kept = F.col("time") > now + CLOCK_MS, F.col("time") >= F.col("expired_time")
    firsts = (
        records.select("part", "offset", "time")
        .join(limits, "part")
        .groupBy("part")
        .agg(
            F.min(F.when(ahead, F.struct("offset", "time"))).alias("future"),
            F.min(F.when(kept, F.col("offset"))).alias("unexpired"),
        )
    )
    found = {part.range.part: _Found(None, None, None) for part in parts}
    for row in firsts.collect():
        future = row["future"]
        found[row["part"]] = _Found(
            future["offset"] if future else None, future["time"] if future else None, row["unexpired"]
        )
    return found


def _expired(
    spark: SparkSession,
    connection: Connection,
    behind: Mapping[int, OffsetRange],
    limits: Mapping[int, int | None],
    rate: int | None,
) -> dict[int, int]:
    """By part: how many records of a range have expired."""
    rows = [{"part": part, "expired_time": limit} for part in behind if (limit := limits[part]) is not None]
    if not rows:
        return {}
    ranges = [behind[row["part"]] for row in rows if row["part"] is not None]
    known = F.broadcast(literal(spark, rows, "part int, expired_time long"))
    records = read(spark, connection, pack(spark, ranges), rate=rate).select("part", "time").join(known, "part")
    counted = records.where(F.col("time") < F.col("expired_time")).groupBy("part").count().collect()
    return {row["part"]: row["count"] for row in counted}


def _horizon(part: PartitionRead, found: _Found) -> Horizon:
    """With the borders found; of a log that was not read from its start, any record may have been protected before."""
    horizon = part.horizon
    whole = part.range.start <= horizon.start
    told = horizon.future_offset is not None
    return replace(
        horizon,
        unexpired=None if horizon.expired_time is None else found.unexpired if whole else horizon.start,
        future_offset=horizon.future_offset if told else found.future_offset,
        future_timestamp=horizon.future_timestamp if told else found.future_timestamp,
    )
