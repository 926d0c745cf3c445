"""Look up the remembered records: which of them are still at their offsets, with their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.history.topic_state import KnownTombstone, RememberedRecord
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.audit.scan.offset_ranges import (
    READ_COMMITTED,
    OffsetRange,
    in_separate_tasks,
    nearby_ranges,
    read_ranges,
)
from topicwarden.kafka.connect.connection import Connection


def still_present(
    spark: SparkSession, connection: Connection, remembered: Mapping[TopicPartition, Iterable[RememberedRecord]]
) -> dict[TopicPartition, frozenset[RememberedRecord]]:
    """Return the records that are still in the log; of a pair, both records must be there.

    The cleaner may run during a lookup, and records are read one after another. So a record may be found just before
    the cleaning that removes both it and another record, which is then missing. The records of a partition that misses
    any are looked up again, until a lookup finds all records of the previous one. The cleaner replaces segments from
    the oldest on (``Cleaner.doClean``): a record that is found after a later one was missing outlived that cleaning.
    """
    present = {partition: frozenset(records) for partition, records in remembered.items()}
    unsettled = {partition: records for partition, records in present.items() if records}
    while unsettled:
        found = _lookup(spark, connection, unsettled)
        present |= found
        unsettled = {at: records for at, records in found.items() if records and records != unsettled[at]}
    return present


def _lookup(
    spark: SparkSession, connection: Connection, remembered: Mapping[TopicPartition, frozenset[RememberedRecord]]
) -> dict[TopicPartition, frozenset[RememberedRecord]]:
    """Return the records that one lookup finds."""
    lookups = {
        partition: [(offset, record.key) for record in records for offset in _offsets(record)]
        for partition, records in remembered.items()
    }
    found = _find(spark, connection, lookups)
    return {
        partition: frozenset(
            record for record in records if all((partition, offset, record.key) in found for offset in _offsets(record))
        )
        for partition, records in remembered.items()
    }


def committed_tombstones(
    spark: SparkSession, connection: Connection, tombstones: Mapping[TopicPartition, Iterable[KnownTombstone]]
) -> dict[TopicPartition, tuple[KnownTombstone, ...]]:
    """Return the tombstones that a consumer with ``isolation.level=read_committed`` sees."""
    lookups = {
        partition: [(tombstone.offset, tombstone.key) for tombstone in found] for partition, found in tombstones.items()
    }
    present = _find(spark, connection, lookups, READ_COMMITTED)
    return {
        partition: tuple(tombstone for tombstone in found if (partition, tombstone.offset, tombstone.key) in present)
        for partition, found in tombstones.items()
    }


def _offsets(record: RememberedRecord) -> list[int]:
    return [offset for offset in (record.offset, record.superseded_by) if offset is not None]


def _find(
    spark: SparkSession,
    connection: Connection,
    lookups: Mapping[TopicPartition, list[tuple[int, int]]],
    options: Mapping[str, str] | None = None,
) -> set[tuple[TopicPartition, int, int]]:
    """Return the records among ``lookups`` that are in the log, each by offset and hash of the key."""
    partitions = [partition for partition, records in lookups.items() if records]
    if not partitions:
        return set()
    rows = [
        {"part": part, "offset": offset, "hash": key}
        for part, partition in enumerate(partitions)
        for offset, key in sorted(set(lookups[partition]))
    ]
    ranges = [
        OffsetRange(part, *partition, start, end)
        for part, partition in enumerate(partitions)
        for start, end in nearby_ranges(offset for offset, _ in lookups[partition])
    ]
    records = read_ranges(spark, connection, in_separate_tasks(ranges), consumer=options).select(
        "part", "offset", F.xxhash64("key").alias("hash"), F.col("key").isNotNull().alias("keyed")
    )
    requested = F.broadcast(literal(spark, rows, "part int, offset long, hash long"))
    found = records.where("keyed").join(requested, ["part", "offset", "hash"]).collect()
    return {(partitions[row["part"]], row["offset"], row["hash"]) for row in found}
