"""Find pairs of a superseded record and its successor, in a small window of offsets.

The full scan counts by 64-bit hashes of keys. This second read starts at the first superseded record of a partition and
compares SHA-256 digests of the keys, which do not collide in practice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.offset_ranges import OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection

WINDOW_OFFSETS = 1_000
"""The number of offsets that are read of one partition."""
MOST_PARTITIONS = 100
"""The number of partitions that are read by one audit."""


def pair_windows(reads: Iterable[PartitionRead], counts: Mapping[TopicPartition, PartitionCounts]) -> list[OffsetRange]:
    """Return the windows to search: ``WINDOW_OFFSETS`` from the first superseded record of each partition on.

    ``MOST_PARTITIONS`` at most, and none of partitions without superseded records.
    """
    return [
        replace(read.range, start=first, end=min(read.range.end, first + WINDOW_OFFSETS))
        for read in reads
        if (first := _first_superseded(counts, read)) is not None
    ][:MOST_PARTITIONS]


def superseded_pairs(
    spark: SparkSource, connection: Connection, windows: list[OffsetRange]
) -> dict[TopicPartition, tuple[SupersededPair, ...]]:
    """Return the pairs in each of ``windows``, by partition; without partitions that have none."""
    if not windows:
        return {}
    session = spark()
    # The key itself does not leave Spark, only its digest. One stage, because this adds to the time of every audit.
    hashes = F.xxhash64("key").alias("hash"), F.sha2("key", 256).alias("digest")
    rows = read_ranges(session, connection, pack_tasks(session, windows)).where(F.col("key").isNotNull())
    partitions = {window.part: (window.topic, window.partition) for window in windows}
    previous: dict[tuple[int, str], int] = {}
    pairs: dict[TopicPartition, list[SupersededPair]] = {}
    for row in sorted(rows.select("part", "offset", *hashes).collect(), key=lambda row: row["offset"]):
        key = row["part"], row["digest"]
        if key in previous:
            pair = SupersededPair(previous[key], row["offset"], row["hash"])
            pairs.setdefault(partitions[row["part"]], []).append(pair)
        previous[key] = row["offset"]
    return {partition: tuple(sorted(found, key=lambda pair: pair.offset)) for partition, found in pairs.items()}


def _first_superseded(counts: Mapping[TopicPartition, PartitionCounts], read: PartitionRead) -> int | None:
    return counts[read.topic_partition].first_superseded if read.compacted and read.topic_partition in counts else None
