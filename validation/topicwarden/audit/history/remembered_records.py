"""The narrow second read: which of the records that were remembered still stand, at their offsets, with their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import PartitionOf
from topicwarden.audit.history.topic_state import KnownTombstone, RememberedRecord
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.audit.scan.offset_ranges import COMMITTED, OffsetRange, in_separate_tasks, nearby_ranges, read
from topicwarden.kafka.connection import Connection


def standing(
    spark: SparkSession, connection: Connection, remembered: Mapping[PartitionOf, Iterable[RememberedRecord]]
) -> dict[PartitionOf, frozenset[RememberedRecord]]:
    """The witnesses of which the record is still there, and so is the one that supersedes it, where one does."""
    wanted = {
        place: [
            (offset, one.key) for one in witnesses for offset in (one.offset, one.superseded_by) if offset is not None
        ]
        for place, witnesses in remembered.items()
    }
    found = _found(spark, connection, wanted)
    return {
        place: frozenset(
            one
            for one in witnesses
            if all(
                (place, offset, one.key) in found for offset in (one.offset, one.superseded_by) if offset is not None
            )
        )
        for place, witnesses in remembered.items()
    }


def committed(
    spark: SparkSession, connection: Connection, seen: Mapping[PartitionOf, Iterable[KnownTombstone]]
) -> dict[PartitionOf, tuple[KnownTombstone, ...]]:
    """The tombstones that a consumer with ``isolation.level=read_committed`` sees: of no aborted transaction."""
    wanted = {place: [(one.offset, one.key) for one in tombstones] for place, tombstones in seen.items()}
    found = _found(spark, connection, wanted, COMMITTED)
    return {
        place: tuple(one for one in tombstones if (place, one.offset, one.key) in found)
        for place, tombstones in seen.items()
    }


def _found(
    spark: SparkSession,
    connection: Connection,
    wanted: Mapping[PartitionOf, list[tuple[int, int]]],
    options: Mapping[str, str] | None = None,
) -> set[tuple[PartitionOf, int, int]]:
    """Of the records ``wanted``, by offset and the hash of their key, those that there are."""
    places = [place for place, records in wanted.items() if records]
    if not places:
        return set()
    rows = [
        {"part": part, "offset": offset, "hash": key}
        for part, place in enumerate(places)
        for offset, key in sorted(set(wanted[place]))
    ]
    ranges = [
        OffsetRange(part, *place, start, end)
        for part, place in enumerate(places)
        for start, end in nearby_ranges(offset for offset, _ in wanted[place])
    ]
    records = read(spark, connection, in_separate_tasks(ranges), consumer=options).select(
        "part", "offset", F.xxhash64("key").alias("hash"), F.col("key").isNotNull().alias("keyed")
    )
    asked = F.broadcast(literal(spark, rows, "part int, offset long, hash long"))
    found = records.where("keyed").join(asked, ["part", "offset", "hash"]).collect()
    return {(places[row["part"]], row["offset"], row["hash"]) for row in found}
