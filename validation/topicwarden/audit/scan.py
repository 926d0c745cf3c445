"""The one scan: every record of every topic read once, and counted where it is read.

The reader counts all records by the age band that they fall into, and those of a compacted topic, or of one with
rules for keys, also by the hash of their key (``reader/CountingReader.java``): no record enters Spark. What it noticed
of records (``reader/Notes.java``) comes along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from topicwarden.audit.contracts import NO_CONTRACTS, Contracts
from topicwarden.audit.counts import Counts
from topicwarden.audit.groups import Counted, Totals, added_up, grouped
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.merging import merge
from topicwarden.audit.ranges import pack, read
from topicwarden.audit.slices import Grave, Slice, by_keys, counting
from topicwarden.kafka.connection import Connection

_LEAST_REDUCERS = 4


class Remembering(Protocol):
    """What is known of records that are not read again."""

    def changed(self, read: DataFrame) -> DataFrame:
        """Takes the groups of what was read; gives them as they are with what was known of the same ones before.

        Beside them stands how many of their records were ``read``, and for keys what was known: ``was_records`` and
        ``was_largest_record``.
        """

    def unchanged(self, changed: list[Totals]) -> Mapping[int, Counted]:
        """What is known of all other keys, by part; takes the totals of what changed."""


def scan(
    spark: SparkSession,
    connection: Connection,
    parts: list[Slice],
    now: int,
    contracts: Contracts = NO_CONTRACTS,
    *,
    buried: Iterable[Grave] = (),
    remembering: Remembering | None = None,
    rate: int | None = None,
) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, counts, and judges by ``contracts``; ``now`` in milliseconds is what ages are
    measured from. ``buried`` are keys that were seen deleted: whether one has risen again is looked for.
    With ``remembering``, ``parts`` are what is new, and it knows the rest. ``rate`` bounds the bytes a second.
    """
    if not parts:
        return {}
    by_key = frozenset(part.range.part for part in parts if by_keys(part, contracts))
    # A consumer has one position in each partition, so that what is read again has tasks of its own.
    again = pack(spark, (part.again for part in parts if part.again))
    tasks = pack(spark, (part.range for part in parts), whole=by_key) + again
    pieces = Counter(one.part for task in tasks for one in task)
    cut = any(pieces[part] > 1 for part in by_key)
    how = counting(parts, contracts, now, buried)
    what = "totals" if remembering is None and not cut else "groups"
    found = read(spark, connection, tasks, contracts=contracts, rate=rate, counted=what, counting=how)
    if what == "groups":
        # As many reducers as readers: each then holds about the groups of one reader's records.
        spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
        groups = grouped(found) if cut else found
        found = added_up(spark, groups if remembering is None else remembering.changed(groups), how)
    totals = [Totals.of(row[0]) for row in found.collect()]
    counted: dict[int, list[Counted]] = {}
    notes: dict[int, list[str]] = {}
    for each in totals:
        counted.setdefault(each.part, []).extend([*each.bands, each.keys])
        notes.setdefault(each.part, []).extend(each.notes)
    if remembering is not None:
        for number, known in remembering.unchanged(totals).items():
            counted.setdefault(number, []).append(known)
    return {
        part.place: merge(
            counted[number], notes.get(number, []), contracts.topics.get(part.range.topic, {}).get("late")
        )
        for part in parts
        if (number := part.range.part) in counted
    }
