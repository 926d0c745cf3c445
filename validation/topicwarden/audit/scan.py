"""The one scan: every record of every topic read once, and counted where it is read.

The reader counts all records by the age band that they fall into, and those of a compacted topic, or of one with
rules for keys, also by the hash of their key (``source/CountingReader.java``): no record enters Spark. What it noticed
of records (``source/RangeSummary.java``) comes along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
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

    def totalled(self, read: DataFrame, cut: Collection[int], counting: str) -> list[Totals]:
        """Takes the groups of what was read, of which the parts in ``cut`` came from several tasks, and how they were
        counted; gives the totals of these and of all that was known before.
        """


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
    consumer: Mapping[str, str] | None = None,
) -> dict[PartitionOf, Counts]:
    """Reads ``parts`` to the offset, counts, and judges by ``contracts``; ``now`` in milliseconds is what ages are
    measured from. ``buried`` are keys that were seen deleted: whether one has risen again is looked for.
    With ``remembering``, ``parts`` are what is new, and it knows the rest. ``rate`` bounds the bytes a second;
    ``consumer`` changes ``ranges.READ_OPTIONS``.
    """
    if not parts:
        return {}
    by_key = frozenset(part.range.part for part in parts if by_keys(part, contracts))
    # A consumer has one position in each partition, so that what is read again has tasks of its own.
    again = pack(spark, (part.again for part in parts if part.again))
    tasks = pack(spark, (part.range for part in parts), whole=by_key) + again
    pieces = Counter(one.part for task in tasks for one in task)
    cut = frozenset(part for part in by_key if pieces[part] > 1)
    how = counting(parts, contracts, now, buried)
    what = "totals" if remembering is None and not cut else "groups"
    found = read(spark, connection, tasks, consumer, contracts, rate=rate, counted=what, counting=how)
    # As many reducers as readers: each then holds about the groups of one reader's records.
    spark.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
    if remembering is not None:
        totals = remembering.totalled(found, cut, how)
    else:
        texts = added_up(spark, grouped(found), how) if cut else found
        totals = [Totals.of(row[0]) for row in texts.collect()]
    counted: dict[int, list[Counted]] = {}
    notes: dict[int, list[str]] = {}
    for each in totals:
        counted.setdefault(each.part, []).extend([*each.bands, each.keys])
        notes.setdefault(each.part, []).extend(each.notes)
    return {
        part.place: merge(
            counted[number], notes.get(number, []), contracts.topics.get(part.range.topic, {}).get("late")
        )
        for part in parts
        if (number := part.range.part) in counted
    }
