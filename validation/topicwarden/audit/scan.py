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
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic

READ_OPTIONS = {
    "failOnDataLoss": "false",  # what retention removes while we read is no error of ours
    "includeHeaders": "false",
    "maxRecordsPerPartition": "1000000",  # tasks short enough for progress, long enough to be worth a consumer
    "kafka.isolation.level": "read_uncommitted",
    # Each fetch of the source seeks and asks for the partition's bounds again: few, large polls make it fast.
    "kafka.max.poll.records": "100000",
    "kafka.max.partition.fetch.bytes": str(32 * 1024 * 1024),
    "kafka.fetch.max.bytes": str(64 * 1024 * 1024),
}


@dataclass(frozen=True)
class Slice:
    """What is to be read of one partition, ``[start, end)``, and the borders to count by."""

    topic: str
    partition: int
    compacted: bool
    start: int
    end: int
    horizon: Horizon


def slices(topics: Iterable[LiveTopic], horizons: Mapping[PartitionOf, Horizon]) -> list[Slice]:
    """Every partition that holds anything."""
    return [
        Slice(
            live.topic.name,
            partition,
            live.topic.compacted,
            extent.start,
            extent.end,
            horizons[live.topic.name, partition],
        )
        for live in topics
        for partition, extent in live.extents.items()
        if extent.start < extent.end
    ]


def scan(spark: SparkSession, connection: Connection, parts: list[Slice], now: int) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, and counts; ``now`` in milliseconds is what ages are measured from."""
    if not parts:
        return {}
    records = read(spark, connection, {(part.topic, part.partition): (part.start, part.end) for part in parts})
    rows = _count(records.join(F.broadcast(_borders(spark, parts)), ["topic", "partition"]), now).collect()
    by_part: dict[int, list[dict[str, int | None]]] = {}
    for row in rows:
        by_part.setdefault(row["part"], []).append(row.asDict())
    return {(parts[part].topic, parts[part].partition): _merge(bands) for part, bands in by_part.items()}


def read(spark: SparkSession, connection: Connection, ranges: Mapping[PartitionOf, tuple[int, int]]) -> DataFrame:
    """The records of ``ranges``, each from its first offset to before its last, as Spark's Kafka source gives them."""
    options = READ_OPTIONS | {f"kafka.{name}": value for name, value in connection.for_java().items()}
    return (
        spark.read.format("kafka")
        .options(**options)
        .option("assign", _by_topic(dict.fromkeys(ranges)))
        .option("startingOffsets", _by_topic({place: start for place, (start, _) in ranges.items()}))
        .option("endingOffsets", _by_topic({place: end for place, (_, end) in ranges.items()}))
        .load()
    )


def _by_topic(values: Mapping[PartitionOf, int | None]) -> str:
    """Spark's JSON: ``{"t": [0, 1]}`` where there are no values, else ``{"t": {"0": 23, "1": 0}}``."""
    topics: dict[str, dict[str, int | None]] = {}
    for (topic, partition), value in values.items():
        topics.setdefault(topic, {})[str(partition)] = value
    bare = all(value is None for value in values.values())
    return json.dumps({topic: [int(key) for key in held] if bare else held for topic, held in topics.items()})


def _borders(spark: SparkSession, parts: list[Slice]) -> DataFrame:
    schema = (
        "topic string, partition int, part int, compacted boolean, "
        "rolled long, cleanable long, expired_time long, future_offset long"
    )
    return spark.createDataFrame(
        [
            (
                *(part.topic, part.partition, number, part.compacted),
                *(part.horizon.rolled, part.horizon.cleanable),
                *(part.horizon.expired_time, part.horizon.future_offset),
            )
            for number, part in enumerate(parts)
        ],
        schema,
    )


def _count(records: DataFrame, now: int) -> DataFrame:
    """One row for each partition and age band that occurs; see ``Counts`` for the columns."""
    keyed = F.col("compacted") & F.col("key").isNotNull()
    empty = F.length("value") == 0
    projected = records.select(
        "part",
        "offset",
        keyed.alias("keyed"),
        F.unix_millis("timestamp").alias("time"),
        (F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))).alias("bytes"),
        F.col("key").isNull().alias("null_key"),
        F.col("value").isNull().alias("tombstone"),
        F.coalesce(empty, F.lit(False)).alias("empty"),
        (F.col("offset") < F.col("rolled")).alias("is_rolled"),
        (F.col("offset") < F.col("cleanable")).alias("is_cleanable"),
        F.coalesce(F.unix_millis("timestamp") < F.col("expired_time"), F.lit(False)).alias("is_expired"),
        F.coalesce(F.col("offset") > F.col("future_offset"), F.lit(False)).alias("is_behind"),
        F.when(keyed, F.xxhash64("key")).otherwise(_band(F.unix_millis("timestamp"), now)).alias("bucket"),
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
        F.count_if(F.col("time") > now).alias("ahead"),
        F.min("time").alias("first_timestamp"),
        F.max("time").alias("last_timestamp"),
    )
    summed = ("records", "payload_bytes", "null_keys", "tombstones", "empty_values")
    return groups.groupBy("part", _band(F.col("last_timestamp"), now).alias("band")).agg(
        *(F.sum(name).alias(name) for name in (*summed, "cleanable", "expired", "expired_behind_future", "ahead")),
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
        ahead=total("ahead"),
        first_timestamp=least("first_timestamp"),
        last_timestamp=max(known("last_timestamp"), default=None),
        ages=tuple(ages.get(number, 0) for number in range(len(BANDS) + 1)),
    )
