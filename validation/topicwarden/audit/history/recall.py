"""The narrow second read: which of the records that were remembered still stand, at their offsets, with their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.history.memory import Tombstone, Witness
from topicwarden.audit.history.store import literal
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.ranges import COMMITTED, Range, read
from topicwarden.kafka.connection import Connection

NEAR = 1_000
"""Offsets no further apart than this are read in one go."""


def standing(
    spark: SparkSession, connection: Connection, remembered: Mapping[PartitionOf, Iterable[Witness]]
) -> dict[PartitionOf, frozenset[Witness]]:
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
    spark: SparkSession, connection: Connection, seen: Mapping[PartitionOf, Iterable[Tombstone]]
) -> dict[PartitionOf, tuple[Tombstone, ...]]:
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
        Range(part, *place, start, end)
        for part, place in enumerate(places)
        for start, end in runs(offset for offset, _ in wanted[place])
    ]
    records = read(spark, connection, apart(ranges), consumer=options).select(
        "part", "offset", F.xxhash64("key").alias("hash"), F.col("key").isNotNull().alias("keyed")
    )
    asked = F.broadcast(literal(spark, rows, "part int, offset long, hash long"))
    found = records.where("keyed").join(asked, ["part", "offset", "hash"]).collect()
    return {(places[row["part"]], row["offset"], row["hash"]) for row in found}


def apart(ranges: Iterable[Range]) -> list[list[Range]]:
    """Tasks of ranges of which no two are of one partition, as a consumer has one position in each."""
    tasks: list[list[Range]] = []
    taken: dict[int, int] = {}
    for one in ranges:
        number = taken.get(one.part, 0)
        if number == len(tasks):
            tasks.append([])
        tasks[number].append(one)
        taken[one.part] = number + 1
    return tasks


def runs(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges ``[start, end)`` that hold the offsets, in order; those that are near one another in one."""
    runs: list[tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if runs and offset - runs[-1][1] < NEAR:
            runs[-1] = runs[-1][0], offset + 1
        else:
            runs.append((offset, offset + 1))
    return runs
