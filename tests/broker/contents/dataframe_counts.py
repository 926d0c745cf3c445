"""Compute the counts of a scan with plain DataFrames: each record is a row, counted with GROUP BY."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import BANDS, PartitionCounts, SupersededPair
from topicwarden.audit.scan.offset_ranges import pack_tasks, read_ranges
from topicwarden.audit.scan.partition_reads import DeletedKey, PartitionRead, counted_by_key
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS
from topicwarden.kafka.connect.connection import Connection

_DELETED_SAMPLES = 4

_PARTITIONS = (
    "part int, partition int, partitions int, rolled_before long, cleanable_before long, expired_before long, "
    "future_offset long"
)


def dataframe_counts(
    spark: SparkSession,
    connection: Connection,
    parts: list[PartitionRead],
    *,
    now: int,
    contracts: Contracts,
    tombstones: Iterable[DeletedKey],
) -> dict[TopicPartition, PartitionCounts]:
    """Return the counts of each partition, without ``faults`` and ``timestamp_types``, which are not counts."""
    rows = [
        (
            part.range.part,
            part.range.partition,
            contracts.topics.get(part.range.topic, {}).get("partitions", 0),
            part.horizon.rolled,
            part.horizon.cleanable,
            part.horizon.expired_time,
            part.horizon.future_offset,
        )
        for part in parts
    ]
    partitions = spark.createDataFrame(rows, _PARTITIONS)
    columns = ("part", "offset", "time", "key", "value", "murmur2", "crc32", "fnv1a")
    records = read_ranges(spark, connection, pack_tasks(spark, (part.range for part in parts))).select(*columns)
    records = records.join(F.broadcast(partitions), "part").withColumns(
        {
            "size": F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0)),
            "is_rolled": F.col("offset") < F.col("rolled_before"),
            "is_cleanable": F.col("offset") < F.col("cleanable_before"),
            "time": F.when(F.col("time") >= 0, F.col("time")),
        }
    )
    records = records.withColumn("is_expired", F.coalesce(F.col("time") < F.col("expired_before"), F.lit(False)))
    records = records.cache()
    of_records = {row["part"]: row for row in _by_record(records, now).collect()}
    of_keys: dict[int, list[Row]] = {}
    for row in _by_key(records).collect():
        of_keys.setdefault(row["part"], []).append(row)
    offsets: dict[int, list[int]] = {}
    for row in records.select("part", "offset").collect():
        offsets.setdefault(row["part"], []).append(row["offset"])
    records.unpersist()
    known = {(topic, partition, key): offset for topic, partition, key, offset in tombstones}
    return {
        part.topic_partition: _counts(
            part,
            of_records[number],
            of_keys.get(number, []) if counted_by_key(part, contracts) else None,
            _last_gap(part, offsets[number]),
            known,
        )
        for part in parts
        if (number := part.range.part) in of_records
    }


def _by_record(records: DataFrame, now: int) -> DataFrame:
    age = now - F.col("time")
    band = reduce(Column.__add__, (F.when(age >= bound, 1).otherwise(0) for bound in BANDS))
    behind_future = F.col("is_expired") & F.coalesce(F.col("offset") > F.col("future_offset"), F.lit(False))
    return records.groupBy("part").agg(
        F.count("*").alias("records"),
        F.sum("size").alias("payload_bytes"),
        F.max("size").alias("largest_record"),
        _number(F.col("key").isNull()).alias("null_keys"),
        F.min(F.when(F.col("key").isNull(), F.col("offset"))).alias("first_null_key"),
        _number(F.col("value").isNull()).alias("tombstones"),
        _number(F.length("value") == 0).alias("empty_values"),
        F.min(F.when(F.length("value") == 0, F.col("offset"))).alias("first_empty_value"),
        _number(F.col("is_rolled")).alias("rolled"),
        _number(F.col("is_cleanable")).alias("cleanable"),
        F.sum(F.when(F.col("is_cleanable"), F.col("size")).otherwise(0)).alias("cleanable_bytes"),
        _number(F.col("is_expired")).alias("expired"),
        _number(behind_future).alias("expired_behind_future"),
        F.min("time").alias("first_timestamp"),
        F.max("time").alias("last_timestamp"),
        _number(F.col("time").isNull()).alias("undated"),
        *(
            _number((band == number) & F.col("time").isNotNull()).alias(f"age_{number}")
            for number in range(len(BANDS) + 1)
        ),
    )


def _by_key(records: DataFrame) -> DataFrame:
    """Return one row for each key: its hash, where its records are, and which partitioners place it there."""
    hashed = {
        "murmur2": F.col("murmur2").cast("long"),
        "crc32": F.col("crc32"),
        "fnv1a": F.abs(F.col("fnv1a").cast("long")),
        "fnv1a-masked": F.col("fnv1a").cast("long").bitwiseAND(F.lit(0x7FFFFFFF)),
        "fnv1a-unsigned": F.col("fnv1a").cast("long").bitwiseAND(F.lit(0xFFFFFFFF)),
    }
    fits = {name: value % F.col("partitions") == F.col("partition") for name, value in hashed.items()}
    keyed = records.where(F.col("key").isNotNull() & (F.col("partitions") > 0)).withColumns(fits)
    unchecked = records.where(F.col("key").isNotNull() & (F.col("partitions") == 0))
    keyed = keyed.unionByName(unchecked.withColumns(dict.fromkeys(hashed, F.lit(False))))
    return keyed.groupBy("part", "key").agg(
        F.first(F.xxhash64("key")).alias("hash"),
        F.count("*").alias("records"),
        _number(F.col("is_rolled")).alias("rolled"),
        _number(F.col("is_cleanable")).alias("cleanable"),
        F.max("size").alias("largest"),
        F.min("offset").alias("first"),
        F.get(F.sort_array(F.collect_list("offset")), F.lit(1)).alias("second"),
        F.max("offset").alias("last"),
        F.max_by(F.col("value").isNull(), F.col("offset")).alias("deleted"),
        *(F.first(name).alias(name) for name in hashed),
    )


def _number(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, 1).otherwise(0)), F.lit(0))


def _last_gap(part: PartitionRead, offsets: list[int]) -> int | None:
    missing = set(range(part.range.start, part.range.end)) - set(offsets)
    return max(missing, default=None)


def _counts(
    part: PartitionRead,
    row: Row,
    keys: list[Row] | None,
    last_gap: int | None,
    tombstones: dict[tuple[str, int, int], int],
) -> PartitionCounts:
    values: dict[str, Any] = row.asDict()
    values.pop("part")
    ages = tuple(values.pop(f"age_{number}") for number in range(len(BANDS) + 1))
    if keys is not None:
        values |= _of_keys(part, keys, tombstones)
    return PartitionCounts(**values, ages=ages, last_gap=last_gap)


def _of_keys(part: PartitionRead, keys: list[Row], tombstones: dict[tuple[str, int, int], int]) -> dict[str, Any]:
    several = [key for key in keys if key["records"] > 1]
    pair = min(several, key=lambda key: key["second"], default=None)
    hottest = max(keys, key=lambda key: (key["records"], -key["first"]), default=None)
    samples = ([key for key in keys if key["deleted"] and key["hash"] % _DELETED_SAMPLES == n] for n in range(4))
    deleted = [min(((key["hash"], key["last"]) for key in sample), default=None) for sample in samples]
    first_deleted = min((key for key in keys if key["deleted"]), key=lambda key: key["last"], default=None)
    if first_deleted:
        deleted.insert(0, (first_deleted["hash"], first_deleted["last"]))
    resurrected = min(
        (
            (key["hash"], key["last"])
            for key in keys
            if key["last"] < tombstones.get((part.range.topic, part.range.partition, key["hash"]), -1)
        ),
        default=None,
    )
    return {
        "keys": len(keys),
        "superseded": sum(key["records"] - 1 for key in keys),
        "superseded_rolled": sum(max(key["rolled"] - 1, 0) for key in keys),
        "superseded_cleanable": sum(max(key["cleanable"] - 1, 0) for key in keys),
        "clean_bytes_at_most": sum(key["largest"] for key in keys),
        "keys_rolled": sum(key["first"] < part.horizon.rolled for key in keys),
        "keys_cleanable": sum(key["first"] < part.horizon.cleanable for key in keys),
        "earliest_pair": pair and SupersededPair(pair["first"], pair["second"], pair["hash"]),
        "deleted": tuple(dict.fromkeys(one for one in deleted if one)),
        "resurrected": (resurrected,) if resurrected else (),
        "first_superseded": min((key["first"] for key in several), default=None),
        "fits": tuple(sum(key[algorithm.name] for key in keys) for algorithm in ALGORITHMS),
        "hottest": hottest["records"] if hottest else 0,
        "hottest_offset": hottest and hottest["first"],
        "hottest_key": hottest and hottest["hash"],
    }
