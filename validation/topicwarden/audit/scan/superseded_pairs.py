"""The narrow second read: which records exactly are superseded, and by which, in a bounded window.

The one scan counts by hashes of keys; this compares the keys themselves, from the first superseded
record of a partition on: by SHA-256, as no two keys that anybody writes have the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import PartitionOf
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.offset_ranges import pack, read
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.connection import Connection

WINDOW_OFFSETS = 1_000
MOST_PARTITIONS = 100


def superseded_pairs(
    spark: SparkSession,
    connection: Connection,
    parts: list[PartitionRead],
    counts: Mapping[PartitionOf, PartitionCounts],
) -> dict[PartitionOf, tuple[SupersededPair, ...]]:
    """The pairs that lie within ``WINDOW_OFFSETS`` of a partition's first superseded record.

    Looks at no more than ``MOST_PARTITIONS`` partitions; reads nothing where nothing is superseded.
    """
    windows = [
        replace(part.range, start=first, end=min(part.range.end, first + WINDOW_OFFSETS))
        for part in parts
        if (first := _first(counts, part)) is not None
    ][:MOST_PARTITIONS]
    if not windows:
        return {}
    # A digest stands for the key, which does not leave Spark; in one stage, as this is part of every audit's time.
    key = F.xxhash64("key").alias("hash"), F.sha2("key", 256).alias("digest")
    rows = read(spark, connection, pack(spark, windows)).where(F.col("key").isNotNull())
    places = {part.range.part: part.place for part in parts}
    last: dict[tuple[int, str], int] = {}
    pairs: dict[PartitionOf, list[SupersededPair]] = {}
    for row in sorted(rows.select("part", "offset", *key).collect(), key=lambda row: row["offset"]):
        of_key = row["part"], row["digest"]
        if of_key in last:
            pairs.setdefault(places[row["part"]], []).append(SupersededPair(last[of_key], row["offset"], row["hash"]))
        last[of_key] = row["offset"]
    return {place: tuple(sorted(held, key=lambda pair: pair.offset)) for place, held in pairs.items()}


def _first(counts: Mapping[PartitionOf, PartitionCounts], part: PartitionRead) -> int | None:
    return counts[part.place].first_superseded if part.compacted and part.place in counts else None
