"""The one scan: every record of every topic read once, and counted where it is read.

The reader counts all records by the age band that they fall into, and those of a compacted topic, or of one with
rules for keys, also by the hash of their key (``reader/GroupReader.java``): no record enters Spark. Spark makes one
row for each partition and band of what was counted. What the reader noticed of records (``reader/Notes.java``) comes
along in rows of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.contracts import NO_CONTRACTS, Contracts
from topicwarden.audit.counts import Counts
from topicwarden.audit.groups import Totals, grouped, totals
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.merging import merge
from topicwarden.audit.ranges import pack, read
from topicwarden.audit.slices import Slice, border_rows, by_keys, counting
from topicwarden.kafka.connection import Connection

_LEAST_REDUCERS = 4

Buried = tuple[str, int, int, int]
"""Topic, partition, a key's hash, and the offset of the tombstone that was its last record."""


class Remembering(Protocol):
    """What is known of records that are not read again."""

    def changed(self, read: DataFrame) -> DataFrame:
        """Takes the groups of what was read; gives them as they are with what was known of the same ones before.

        Beside them stands how many of their records were ``read``, and for keys what was known: ``was_records`` and
        ``was_largest_record``.
        """

    def unchanged(self, changed: list[Row]) -> Mapping[int, Totals]:
        """Totals of everything else, by part; takes those of what changed."""


def scan(
    spark: SparkSession,
    connection: Connection,
    parts: list[Slice],
    now: int,
    contracts: Contracts = NO_CONTRACTS,
    *,
    buried: Iterable[Buried] = (),
    remembering: Remembering | None = None,
    rate: int | None = None,
) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, counts, and judges by ``contracts``; ``now`` in milliseconds is what ages are
    measured from. ``buried`` are keys that were seen deleted: whether one has risen again is looked for.
    With ``remembering``, ``parts`` are what is new, and it knows the rest. ``rate`` bounds the bytes a second.
    """
    if not parts:
        return {}
    graves = _graves(spark, parts, buried)
    by_key = frozenset(part.range.part for part in parts if by_keys(part, contracts))
    # A consumer has one position in each partition, so that what is read again has tasks of its own.
    again = pack(spark, (part.again for part in parts if part.again))
    tasks = pack(spark, (part.range for part in parts), whole=by_key) + again
    # As many reducers as readers: each then holds about the groups of one reader's records.
    spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
    groups = read(spark, connection, tasks, contracts=contracts, rate=rate, counting=counting(parts, contracts, now))
    pieces = Counter(one.part for task in tasks for one in task)
    if any(pieces[part] > 1 for part in by_key):
        groups = grouped(groups)
    bands: dict[int, list[Totals]] = {}
    if remembering is not None:
        groups = remembering.changed(groups)
        bordered = groups.join(F.broadcast(_borders(spark, parts, contracts)), "part")
        rows = totals(bordered, now, contracts, graves).collect()
        for number, known in remembering.unchanged(rows).items():
            bands.setdefault(number, []).append(known)
    else:
        rows = totals(groups, now, contracts, graves).collect()
    notes: dict[int, list[str]] = {}
    for row in rows:
        if row["note"] is None:
            bands.setdefault(row["part"], []).append(row.asDict())
        else:
            notes.setdefault(row["part"], []).append(row["note"])
    return {
        part.place: merge(bands[number], notes.get(number, []), contracts.topics.get(part.range.topic, {}).get("late"))
        for part in parts
        if (number := part.range.part) in bands
    }


def _borders(spark: SparkSession, parts: list[Slice], contracts: Contracts) -> DataFrame:
    """Made of a literal: what Python hands over row by row would start Python on the executors."""
    schema = "array<struct<part:int,rolled_border:long,cleanable_border:long>>"
    rows = json.dumps(border_rows(parts, contracts))
    return spark.range(1).select(F.inline(F.from_json(F.lit(rows), schema)))


def _graves(spark: SparkSession, parts: list[Slice], buried: Iterable[Buried]) -> DataFrame | None:
    """A row for each key that was seen deleted, with the offset of its tombstone; None where there are none."""
    numbers = {part.place: part.range.part for part in parts}
    rows = [
        {"part": numbers[topic, partition], "bucket": key, "grave": offset}
        for topic, partition, key, offset in buried
        if (topic, partition) in numbers
    ]
    if not rows:
        return None
    schema = "array<struct<part:int,bucket:long,grave:long>>"
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), schema)))
