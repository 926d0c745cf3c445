"""The narrow second read: which records exactly are superseded, and by which, in a bounded window.

The one scan counts by hashes of keys; this compares the keys themselves, from the first superseded
record of a partition on: by SHA-256, as no two keys that anybody writes have the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.ranges import pack, read
from topicwarden.audit.slices import Slice
from topicwarden.kafka.connection import Connection

WINDOW_OFFSETS = 1_000
MOST_PARTITIONS = 100


def superseded_pairs(
    spark: SparkSession, connection: Connection, parts: list[Slice], counts: Mapping[PartitionOf, Counts]
) -> dict[PartitionOf, tuple[Pair, ...]]:
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
    pairs: dict[PartitionOf, list[Pair]] = {}
    for row in sorted(rows.select("part", "offset", *key).collect(), key=lambda row: row["offset"]):
        of_key = row["part"], row["digest"]
        if of_key in last:
            pairs.setdefault(places[row["part"]], []).append(Pair(last[of_key], row["offset"], row["hash"]))
        last[of_key] = row["offset"]
    return {place: tuple(sorted(held, key=lambda pair: pair.offset)) for place, held in pairs.items()}


def _first(counts: Mapping[PartitionOf, Counts], part: Slice) -> int | None:
    return counts[part.place].first_superseded if part.compacted and part.place in counts else None
