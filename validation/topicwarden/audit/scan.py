"""The one scan: every record of every topic read once, everything counted in Spark's own code.

Records of a compacted topic are grouped by the hash of their key, all others by the age band that
they fall into; a second, small aggregation brings both to one row for each partition and band.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.counts import BANDS, Counts
from topicwarden.audit.horizon import Horizon, PartitionOf
from topicwarden.audit.ranges import Range, pack, read
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic

_LEAST_REDUCERS = 4


@dataclass(frozen=True)
class Slice:
    """What is to be read of one partition, and the borders to count by."""

    range: Range
    compacted: bool
    horizon: Horizon

    @property
    def place(self) -> PartitionOf:
        return self.range.topic, self.range.partition


def slices(topics: Iterable[LiveTopic], horizons: Mapping[PartitionOf, Horizon]) -> list[Slice]:
    """Every partition that holds anything, as the snapshot saw it."""
    held = [
        (live.topic, partition, extent)
        for live in topics
        for partition, extent in live.extents.items()
        if extent.start < extent.end
    ]
    return [
        Slice(
            Range(number, topic.name, partition, extent.start, extent.end),
            topic.compacted,
            horizons[topic.name, partition],
        )
        for number, (topic, partition, extent) in enumerate(held)
    ]


def scan(spark: SparkSession, connection: Connection, parts: list[Slice], now: int) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, and counts; ``now`` in milliseconds is what ages are measured from."""
    if not parts:
        return {}
    tasks = pack(spark, (part.range for part in parts))
    # As many reducers as readers: each then holds about the groups of one reader's records.
    spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
    records = read(spark, connection, tasks)
    rows = _count(records.join(F.broadcast(_borders(spark, parts)), "part"), now).collect()
    by_part: dict[int, list[dict[str, int | None]]] = {}
    for row in rows:
        by_part.setdefault(row["part"], []).append(row.asDict())
    return {part.place: _merge(by_part[part.range.part]) for part in parts if part.range.part in by_part}


def _borders(spark: SparkSession, parts: list[Slice]) -> DataFrame:
    """A row a partition. Made of a literal: what Python hands over row by row would start Python on the executors."""
    schema = "part:int,compacted:boolean,rolled:long,cleanable:long,expired_time:long,future_offset:long"
    rows = [
        {
            "part": part.range.part,
            "compacted": part.compacted,
            "rolled": part.horizon.rolled,
            "cleanable": part.horizon.cleanable,
            "expired_time": part.horizon.expired_time,
            "future_offset": part.horizon.future_offset,
        }
        for part in parts
    ]
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), f"array<struct<{schema}>>")))


def _count(records: DataFrame, now: int) -> DataFrame:
    """One row for each partition and age band that occurs; see ``Counts`` for the columns."""
    keyed = F.col("compacted") & F.col("key").isNotNull()
    empty = F.length("value") == 0
    projected = records.select(
        "part",
        "offset",
        keyed.alias("keyed"),
        "time",
        (F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))).alias("bytes"),
        F.col("key").isNull().alias("null_key"),
        F.col("value").isNull().alias("tombstone"),
        F.coalesce(empty, F.lit(False)).alias("empty"),
        (F.col("offset") < F.col("rolled")).alias("is_rolled"),
        (F.col("offset") < F.col("cleanable")).alias("is_cleanable"),
        F.coalesce(F.col("time") < F.col("expired_time"), F.lit(False)).alias("is_expired"),
        F.coalesce(F.col("offset") > F.col("future_offset"), F.lit(False)).alias("is_behind"),
        F.when(keyed, F.xxhash64("key")).otherwise(_band(F.col("time"), now)).alias("bucket"),
    )
    groups = projected.groupBy("part", "keyed", "bucket").agg(
        F.count("*").alias("records"),
        F.sum("bytes").alias("payload_bytes"),
        F.max("bytes").alias("largest_record"),
        F.count_if("null_key").alias("null_keys"),
        F.min(F.when(F.col("null_key"), F.col("offset"))).alias("first_null_key"),
        F.count_if("tombstone").alias("tombstones"),
        F.count_if("empty").alias("empty_values"),
        F.min(F.when(F.col("empty"), F.col("offset"))).alias("first_empty_value"),
        F.count_if("is_rolled").alias("rolled"),
        F.count_if("is_cleanable").alias("cleanable"),
        F.min("offset").alias("first_offset"),
        F.count_if("is_expired").alias("expired"),
        F.count_if(F.col("is_expired") & F.col("is_behind")).alias("expired_behind_future"),
        F.min("time").alias("first_timestamp"),
        F.max("time").alias("last_timestamp"),
    )
    summed = ("records", "payload_bytes", "null_keys", "tombstones", "empty_values")
    return groups.groupBy("part", _band(F.col("last_timestamp"), now).alias("band")).agg(
        *(F.sum(name).alias(name) for name in (*summed, "cleanable", "expired", "expired_behind_future")),
        F.max("largest_record").alias("largest_record"),
        *(F.min(name).alias(name) for name in ("first_null_key", "first_empty_value", "first_timestamp")),
        F.max("last_timestamp").alias("last_timestamp"),
        F.count_if("keyed").alias("keys"),
        _repeats("records").alias("superseded"),
        _repeats("rolled").alias("superseded_rolled"),
        _repeats("cleanable").alias("superseded_cleanable"),
        F.min(F.when(F.col("keyed") & (F.col("records") > 1), F.col("first_offset"))).alias("first_superseded"),
    )


def _repeats(name: str) -> Column:
    """Of a key's records the last stands for all: the others are superseded."""
    return F.sum(F.when(F.col("keyed"), F.greatest(F.col(name) - 1, F.lit(0))).otherwise(0))


def _band(time: Column, now: int) -> Column:
    """The age band of a timestamp, as a whole number: 0 the future, then by ``BANDS``."""
    age = F.lit(now) - time
    return sum(((age >= bound).cast("long") for bound in BANDS), F.lit(0).cast("long"))


def _merge(bands: list[dict[str, int | None]]) -> Counts:
    def known(name: str) -> list[int]:
        return [value for band in bands if (value := band[name]) is not None]

    def total(name: str) -> int:
        return sum(known(name))

    def least(name: str) -> int | None:
        return min(known(name), default=None)

    ages = {band["band"]: band["records"] or 0 for band in bands}
    return Counts(
        records=total("records"),
        payload_bytes=total("payload_bytes"),
        largest_record=max(known("largest_record"), default=0),
        null_keys=total("null_keys"),
        first_null_key=least("first_null_key"),
        tombstones=total("tombstones"),
        empty_values=total("empty_values"),
        first_empty_value=least("first_empty_value"),
        keys=total("keys"),
        superseded=total("superseded"),
        superseded_rolled=total("superseded_rolled"),
        superseded_cleanable=total("superseded_cleanable"),
        cleanable=total("cleanable"),
        first_superseded=least("first_superseded"),
        expired=total("expired"),
        expired_behind_future=total("expired_behind_future"),
        first_timestamp=least("first_timestamp"),
        last_timestamp=max(known("last_timestamp"), default=None),
        ages=tuple(ages.get(number, 0) for number in range(len(BANDS) + 1)),
    )
