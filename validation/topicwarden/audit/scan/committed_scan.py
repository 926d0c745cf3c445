"""Count again only the records that a consumer with ``isolation.level=read_committed`` sees.

The scan reads uncommitted records too: compaction, retention and disk usage do not depend on transactions, and a
consumer that reads committed records cannot tell which records were left out. But a record of an aborted or open
transaction breaks no contract, because no consumer that reads committed records sees it. So a partition is read again
if a finding about contents may rest on such records.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, SchemaIdCount
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, in_separate_tasks, nearby_ranges, read_ranges
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection

MOST_RECORDS = 10_000_000
"""The number of records that an audit reads again in full; beyond that it only looks up single records."""

_DEPENDS_ON_EARLIER_RECORDS = frozenset({"timestamp-late"})
"""Rules that compare a record with earlier ones: that the record itself is committed proves nothing."""


def may_hold_uncommitted(counts: PartitionCounts, end: int, last_stable: int) -> bool:
    """Return whether the records up to ``end`` may include records of aborted or open transactions.

    A finished transaction leaves a marker, which occupies an offset. An open transaction holds back the last stable
    offset. So a log without a gap that was read no further than the last stable offset has only committed records.
    Compaction leaves gaps, too.
    """
    return counts.last_gap is not None or last_stable < end


def committed_counts(
    spark: SparkSource,
    connection: Connection,
    reads: Iterable[PartitionRead],
    counts: Mapping[TopicPartition, PartitionCounts],
    *,
    contracts: Contracts,
    now: int,
    rate: int | None,
) -> dict[TopicPartition, PartitionCounts]:
    """Return the counts of the committed records of each read; ``counts`` has the counts of all records.

    ``reads`` end at the last stable offset. The smallest are read again, up to ``MOST_RECORDS`` records in total. Of
    the others, only the offsets in their faults are looked up; a number that may be too high is marked ``at_most``.
    If the reader gives up a partition, its faults are ``unconfirmed``. ``now`` (ms) and ``rate`` (bytes a second) as in
    ``scan``.
    """
    in_full: list[PartitionRead] = []
    sampled: list[PartitionRead] = []
    remaining = MOST_RECORDS
    for read in sorted(reads, key=lambda read: counts[read.topic_partition].records):
        remaining -= counts[read.topic_partition].records
        (in_full if remaining >= 0 else sampled).append(read)
    nonempty = [read for read in in_full if read.range.start < read.range.end]
    exact = scan(spark(), connection, nonempty, now, contracts, rate=rate, consumer=READ_COMMITTED) if nonempty else {}
    committed = _committed_offsets(spark, connection, sampled, counts)
    again = {read.topic_partition: exact.get(read.topic_partition, PartitionCounts()) for read in in_full}
    return {at: _bounded(counts[at], None) if found.unread else found for at, found in again.items()} | {
        read.topic_partition: _bounded(counts[read.topic_partition], committed.get(read.range.part, frozenset()))
        for read in sampled
    }


def _faulty_offsets(counts: PartitionCounts) -> set[int]:
    """Return the reported offsets of records with a fault, and of records that are first with a schema id."""
    firsts = {offset for offset in (counts.first_null_key, counts.first_empty_value) if offset is not None}
    firsts |= {found.first for found in counts.schema_ids}
    return firsts.union(*(fault.offsets for fault in counts.faults))


def _committed_offsets(
    spark: SparkSource,
    connection: Connection,
    reads: Iterable[PartitionRead],
    counts: Mapping[TopicPartition, PartitionCounts],
) -> dict[int, frozenset[int]]:
    """Return which faulty offsets hold a committed record, by the number of the read."""
    ranges = [read.range for read in reads]
    faulty = {
        offsets.part: {
            offset for offset in _faulty_offsets(counts[offsets.topic, offsets.partition]) if offset < offsets.end
        }
        for offsets in ranges
    }
    rows = [{"part": number, "offset": offset} for number, offsets in faulty.items() for offset in sorted(offsets)]
    if not rows:
        return {}
    windows = [
        replace(offsets, start=start, end=end)
        for offsets in ranges
        for start, end in nearby_ranges(faulty[offsets.part])
    ]
    selected = F.broadcast(literal(spark(), rows, "part int, offset long"))
    found: dict[int, set[int]] = {}
    records = read_ranges(spark(), connection, in_separate_tasks(windows), READ_COMMITTED).select("part", "offset")
    for row in records.join(selected, ["part", "offset"]).collect():
        found.setdefault(row["part"], set()).add(row["offset"])
    return {number: frozenset(offsets) for number, offsets in found.items()}


def _bounded(counts: PartitionCounts, committed: Container[int] | None) -> PartitionCounts:
    """Return ``counts`` as upper bounds.

    ``committed``: those of the reported offsets whose records are committed; None if that could not be looked up.
    """
    null_keys, first_null_key = _first(counts.null_keys, counts.first_null_key, committed)
    empty_values, first_empty_value = _first(counts.empty_values, counts.first_empty_value, committed)
    return replace(
        counts,
        null_keys=null_keys,
        first_null_key=first_null_key,
        empty_values=empty_values,
        first_empty_value=first_empty_value,
        faults=tuple(bounded for fault in counts.faults if (bounded := _bounded_fault(fault, committed)).count),
        schema_ids=tuple(ids for found in counts.schema_ids if (ids := _bounded_ids(found, committed))),
        at_most=True,
    )


def _bounded_ids(found: SchemaIdCount, committed: Container[int] | None) -> SchemaIdCount | None:
    if committed is not None and found.first in committed:
        return replace(found, at_most=found.records > 1)
    return replace(found, at_most=True, unconfirmed=True) if committed is None or found.records > 1 else None


def _first(count: int, first: int | None, committed: Container[int] | None) -> tuple[int, int | None]:
    if committed is not None and first in committed:
        return count, first
    return (0 if committed is not None and count == 1 else count), None


def _bounded_fault(fault: ContentFault, committed: Container[int] | None) -> ContentFault:
    if committed is None or fault.rule in _DEPENDS_ON_EARLIER_RECORDS:
        return replace(fault, at_most=True, unconfirmed=True)
    found = tuple(offset for offset in fault.offsets if offset in committed)
    if fault.count == len(fault.offsets):
        return replace(fault, count=len(found), offsets=found)
    return replace(fault, offsets=found or fault.offsets, at_most=True, unconfirmed=not found)
