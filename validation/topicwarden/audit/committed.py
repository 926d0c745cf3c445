"""The narrow second read of faults: which of them a consumer that reads committed sees.

The scan reads uncommitted, as compaction and retention know no transactions; but a record of an aborted
transaction, or of one still open, breaks no contract: nobody who reads committed will see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.contracts import Contracts
from topicwarden.audit.counts import Counts, Fault
from topicwarden.audit.horizon import PartitionOf
from topicwarden.audit.notes import faults_of
from topicwarden.audit.ranges import Range, pack, read
from topicwarden.kafka.connection import Connection

WINDOW_OFFSETS = 1_000
"""That are read again from a fault's first record on."""

_COMMITTED = {"isolation.level": "read_committed"}

Cause = tuple[str, str]
"""A fault's rule and reason."""

_BY_WHAT_CAME_BEFORE = frozenset({"timestamp-late"})
"""Rules by which a record is judged by those before it: a window that begins with it shows nothing."""


def committed(
    spark: SparkSession,
    connection: Connection,
    ranges: Mapping[PartitionOf, Range],
    counts: Mapping[PartitionOf, Counts],
    contracts: Contracts,
) -> dict[PartitionOf, Counts]:
    """``counts`` with each fault's ``committed`` told; ``ranges`` are what was read, up to the last stable offsets.

    Reads a window for each fault. Where records in it turn out not to be committed, the rest of the partition is
    read once more, so that the fault's count and offsets are of committed records alone; and all of it, where a fault
    is one of order.
    """
    faulty = {place: one for place, one in ranges.items() if place in counts and counts[place].faults}
    if not faulty:
        return dict(counts)
    seen = _seen(spark, connection, _windows(faulty, counts), contracts)
    doubtful = {
        place: replace(one, start=min(_begin(fault, one) for fault in counts[place].faults))
        for place, one in faulty.items()
        if not all(_wholly(fault, seen.get(one.part, {})) for fault in counts[place].faults)
    }
    told = _seen(spark, connection, pack(spark, (one for one in doubtful.values() if one.start < one.end)), contracts)
    return {
        place: replace(
            held,
            faults=tuple(
                _exact(fault, told.get(doubtful[place].part, {}))
                if place in doubtful
                else replace(fault, committed=True)
                for fault in held.faults
            ),
        )
        for place, held in counts.items()
    }


def first_committed(
    spark: SparkSession,
    connection: Connection,
    ranges: Mapping[PartitionOf, Range],
    counts: Mapping[PartitionOf, Counts],
) -> dict[PartitionOf, Counts]:
    """``counts`` with the first committed record without a key, and the first empty value, of these partitions.

    None where there is none that is committed: nobody who reads committed will ever see the others. Reads a window,
    and the rest of a partition only where that shows none.
    """
    held = {place: one for place, one in ranges.items() if place in counts and _firsts(counts[place])}
    begun = {place: replace(one, start=max(one.start, min(_firsts(counts[place])))) for place, one in held.items()}
    windows = {place: replace(one, end=min(one.end, one.start + WINDOW_OFFSETS)) for place, one in begun.items()}
    near = _bare(spark, connection, windows.values())
    doubtful = {place: one for place, one in begun.items() if not _all_found(counts[place], near.get(one.part))}
    far = _bare(spark, connection, doubtful.values())
    found = {place: {**near, **far}.get(one.part, (None, None)) for place, one in begun.items()}
    return {
        place: replace(each, first_null_key=found[place][0], first_empty_value=found[place][1])
        if place in found
        else each
        for place, each in counts.items()
    }


def _firsts(counts: Counts) -> list[int]:
    return [offset for offset in (counts.first_null_key, counts.first_empty_value) if offset is not None]


def _all_found(counts: Counts, found: tuple[int | None, int | None] | None) -> bool:
    wanted = (counts.first_null_key, counts.first_empty_value)
    return found is not None and all(one is None or seen is not None for one, seen in zip(wanted, found, strict=True))


def _bare(
    spark: SparkSession, connection: Connection, ranges: Iterable[Range]
) -> dict[int, tuple[int | None, int | None]]:
    """By range: the first committed record without a key, and the first with an empty value."""
    some = [one for one in ranges if one.start < one.end]
    if not some:
        return {}
    rows = (
        read(spark, connection, pack(spark, some), _COMMITTED)
        .groupBy("part")
        .agg(
            F.min(F.when(F.col("key").isNull(), F.col("offset"))).alias("null_key"),
            F.min(F.when(F.length("value") == 0, F.col("offset"))).alias("empty_value"),
        )
        .collect()
    )
    return {row["part"]: (row["null_key"], row["empty_value"]) for row in rows}


def _begin(fault: Fault, one: Range) -> int:
    """Where to read from, so that the fault is seen again."""
    return one.start if fault.rule in _BY_WHAT_CAME_BEFORE else fault.offsets[0]


def _windows(faulty: Mapping[PartitionOf, Range], counts: Mapping[PartitionOf, Counts]) -> list[list[Range]]:
    """A task reads a partition from one place on, so the windows of one partition go to a task each."""
    tasks: list[list[Range]] = []
    for place, one in faulty.items():
        held = [fault for fault in counts[place].faults if fault.rule not in _BY_WHAT_CAME_BEFORE]
        starts = sorted({fault.offsets[0] for fault in held})
        windows = [replace(one, start=at, end=min(one.end, at + WINDOW_OFFSETS)) for at in starts]
        for number, window in enumerate(window for window in windows if window.start < window.end):
            if number == len(tasks):
                tasks.append([])
            tasks[number].append(window)
    return tasks


def _seen(
    spark: SparkSession, connection: Connection, tasks: list[list[Range]], contracts: Contracts
) -> dict[int, dict[Cause, Fault]]:
    if not tasks:
        return {}
    rows = (
        read(spark, connection, tasks, _COMMITTED, contracts)
        .where(F.col("note").isNotNull())
        .select("part", "note")
        .collect()
    )
    notes: dict[int, list[str]] = {}
    for row in rows:
        notes.setdefault(row["part"], []).append(row["note"])
    return {part: _by_cause(faults_of(told)) for part, told in notes.items()}


def _by_cause(faults: Iterable[Fault]) -> dict[Cause, Fault]:
    return {(fault.rule, fault.reason): fault for fault in faults}


def _wholly(fault: Fault, seen: Mapping[Cause, Fault]) -> bool:
    """Whether what the window should show of a fault is all there."""
    found = seen.get((fault.rule, fault.reason))
    expected = {offset for offset in fault.offsets if offset < fault.offsets[0] + WINDOW_OFFSETS}
    return found is not None and expected <= set(found.offsets)


def _exact(fault: Fault, told: Mapping[Cause, Fault]) -> Fault:
    found = told.get((fault.rule, fault.reason))
    if found is None:
        return replace(fault, committed=False)
    return replace(found, committed=True, excerpt=fault.excerpt)
