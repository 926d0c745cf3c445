"""The second read: the same counts, of the records alone that a consumer with ``isolation.level=read_committed`` sees.

The scan reads uncommitted: compaction, retention and disks know no transactions, and a consumer that reads committed
is not told which records it left out. But a record of an aborted or an open transaction breaks no contract, as nobody
who reads committed sees it. So where a finding about contents might rest on such records, its partition is read again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import PartitionOf
from topicwarden.audit.contents.contracts import Contracts
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.audit.scan.offset_ranges import COMMITTED, in_separate_tasks, nearby_ranges, read
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.connection import Connection

MOST_RECORDS = 10_000_000
"""That an audit reads again in full; of partitions beyond that it looks at single records."""

_BY_WHAT_CAME_BEFORE = frozenset({"timestamp-late"})
"""Rules by which a record is judged by those before it: that it is committed proves nothing alone."""


def may_hold_uncommitted(counts: PartitionCounts, end: int, last_stable: int) -> bool:
    """Return whether what was read up to ``end`` may hold records of aborted or open transactions.

    A transaction that has ended leaves a marker, which takes an offset, and one that has not holds back the last stable
    offset: a log without a gap, read no further than that offset, holds committed records alone. A gap may also be what
    compaction left.
    """
    return counts.last_gap is not None or last_stable < end


def committed_counts(
    spark: SparkSession,
    connection: Connection,
    parts: Iterable[PartitionRead],
    counts: Mapping[PartitionOf, PartitionCounts],
    *,
    contracts: Contracts,
    now: int,
    rate: int | None = None,
) -> dict[PartitionOf, PartitionCounts]:
    """Return the counts of the committed records of each part; ``counts`` are of all records, committed or not.

    ``parts`` end at the last stable offset. The smallest are read again, ``MOST_RECORDS`` altogether. Of the others,
    only the records that their faults name are looked for; a number that may be too high then says so
    (``at_most``). ``now`` and ``rate`` as in ``scan``.
    """
    again: list[PartitionRead] = []
    beyond: list[PartitionRead] = []
    left = MOST_RECORDS
    for part in sorted(parts, key=lambda part: counts[part.place].records):
        left -= counts[part.place].records
        (again if left >= 0 else beyond).append(part)
    held = [part for part in again if part.range.start < part.range.end]
    exact = scan(spark, connection, held, now, contracts, rate=rate, consumer=COMMITTED)
    seen = _committed_offsets(spark, connection, beyond, counts)
    return {part.place: exact.get(part.place, PartitionCounts()) for part in again} | {
        part.place: _bounded(counts[part.place], seen.get(part.range.part, frozenset())) for part in beyond
    }


def _named(counts: PartitionCounts) -> set[int]:
    """The offsets of records that something is wrong with, as far as they are told."""
    firsts = {offset for offset in (counts.first_null_key, counts.first_empty_value) if offset is not None}
    return firsts.union(*(fault.offsets for fault in counts.faults))


def _committed_offsets(
    spark: SparkSession,
    connection: Connection,
    parts: Iterable[PartitionRead],
    counts: Mapping[PartitionOf, PartitionCounts],
) -> dict[int, frozenset[int]]:
    """By number of the part: which of the offsets that its counts name hold a committed record."""
    ranges = [part.range for part in parts]
    named = {one.part: {at for at in _named(counts[one.topic, one.partition]) if at < one.end} for one in ranges}
    rows = [{"part": part, "offset": offset} for part, offsets in named.items() for offset in sorted(offsets)]
    if not rows:
        return {}
    windows = [replace(one, start=start, end=end) for one in ranges for start, end in nearby_ranges(named[one.part])]
    wanted = F.broadcast(literal(spark, rows, "part int, offset long"))
    found: dict[int, set[int]] = {}
    records = read(spark, connection, in_separate_tasks(windows), COMMITTED).select("part", "offset")
    for row in records.join(wanted, ["part", "offset"]).collect():
        found.setdefault(row["part"], set()).add(row["offset"])
    return {part: frozenset(offsets) for part, offsets in found.items()}


def _bounded(counts: PartitionCounts, committed: Container[int]) -> PartitionCounts:
    """``counts`` as upper bounds, of which it is known that the records at ``committed`` offsets are committed."""
    null_keys, first_null_key = _first(counts.null_keys, counts.first_null_key, committed)
    empty_values, first_empty_value = _first(counts.empty_values, counts.first_empty_value, committed)
    return replace(
        counts,
        null_keys=null_keys,
        first_null_key=first_null_key,
        empty_values=empty_values,
        first_empty_value=first_empty_value,
        faults=tuple(one for fault in counts.faults if (one := _fault(fault, committed)).count),
        at_most=True,
    )


def _first(count: int, first: int | None, committed: Container[int]) -> tuple[int, int | None]:
    if first in committed:
        return count, first
    return (0 if count == 1 else count), None


def _fault(fault: ContentFault, committed: Container[int]) -> ContentFault:
    if fault.rule in _BY_WHAT_CAME_BEFORE:
        return replace(fault, at_most=True, unconfirmed=True)
    found = tuple(offset for offset in fault.offsets if offset in committed)
    if fault.count == len(fault.offsets):
        return replace(fault, count=len(found), offsets=found)
    return replace(fault, offsets=found or fault.offsets, at_most=True, unconfirmed=not found)
