"""Merge what the tasks of a scan, full or since the last audit, counted in a partition to ``PartitionCounts``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import BANDS, METRICS, Merge, PartitionCounts, SupersededPair
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS
from topicwarden.audit.scan.reader_notes import (
    Counted,
    Note,
    RangeTotals,
    arrivals,
    last_gap,
    merge_faults,
    personal_fields,
    schema_ids,
    timestamp_types,
    unread_reason,
)

_DELETED_KEYS = 4
"""How many deleted keys ``KeyTotals.java`` reports, as ``deleted_key_0`` and so on."""


def counts_by_partition(
    reads: Iterable[PartitionRead], totals: Iterable[RangeTotals], contracts: Contracts
) -> dict[TopicPartition, PartitionCounts]:
    """Return the counts of each of ``reads`` that has any of ``totals``."""
    counted: dict[int, list[Counted]] = {}
    notes: dict[int, list[Note]] = {}
    for total in totals:
        counted.setdefault(total.part, []).extend([*total.bands, total.keys])
        notes.setdefault(total.part, []).extend(total.notes)
    return {
        read.topic_partition: merge(
            counted[number],
            notes.get(number, []),
            contracts.topics.get(read.range.topic, {}).get("late"),
            read.horizon.start,
        )
        for read in reads
        if (number := read.range.part) in counted
    }


def merge(totals: list[Counted], notes: list[Note], max_late: int | None, log_start: int = 0) -> PartitionCounts:
    """Return the counts of a partition from the totals of its age bands and keys, and from the reader's ``notes``.

    ``max_late`` (ms) and ``log_start`` as in ``merge_faults``.
    """
    numbers = {name: _merged(totals, name, metric.merge) for name, metric in METRICS.items()}
    merged: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    ages: Counter[int | None] = Counter()
    for counted in totals:
        ages[counted.get("band")] += counted.get("records", 0)
    by_key = any("hottest" in counted for counted in totals)
    hottest = max(totals, key=hottest_rank)
    deleted_names = ((f"deleted_key_{number}", f"deleted_offset_{number}") for number in range(_DELETED_KEYS))
    by_interval, scattered = arrivals(notes)
    personal, sampled = personal_fields(notes)
    return PartitionCounts(
        **merged,
        earliest_pair=_earliest_pair(totals, "pair"),
        renewed=_earliest_pair(totals, "renewed"),
        deleted=tuple(dict.fromkeys((*_first_deleted(totals), *_keys(totals, *deleted_names)))),
        resurrected=_keys(totals, ("risen_key", "risen_offset")),
        ages=tuple(ages.get(number, 0) for number in range(len(BANDS) + 1)),
        undated=ages.get(len(BANDS) + 1, 0),
        fits=tuple(_merged(totals, algorithm.name) or 0 for algorithm in ALGORITHMS) if by_key else (),
        hottest=hottest.get("hottest", 0),
        hottest_offset=hottest.get("hottest_offset"),
        hottest_key=hottest.get("hottest_key"),
        faults=merge_faults(notes, max_late, log_start),
        schema_ids=schema_ids(notes),
        arrivals=by_interval,
        scattered=scattered,
        personal=personal,
        sampled=sampled,
        timestamp_types=timestamp_types(notes, log_start),
        last_gap=last_gap(notes, log_start),
        unread=unread_reason(notes),
    )


def _merged(totals: list[Counted], name: str, merge: Merge = Merge.SUM) -> int | None:
    return merge.of(counted[name] for counted in totals if name in counted)


def hottest_rank(keys: Counted) -> tuple[int, int]:
    """Return the sort key of the hottest key: most records first, then the lowest offset."""
    return keys.get("hottest", 0), -keys.get("hottest_offset", 0)


def _earliest_pair(totals: list[Counted], name: str) -> SupersededPair | None:
    pairs = [
        SupersededPair(counted[f"{name}_first"], counted[f"{name}_second"], counted[f"{name}_key"])
        for counted in totals
        if f"{name}_second" in counted
    ]
    return min(pairs, key=lambda pair: pair.superseded_by, default=None)


def _first_deleted(totals: list[Counted]) -> Iterable[tuple[int, int]]:
    """Yield the hash of the key whose last record is the first such tombstone, and the tombstone's offset."""
    found = [
        (counted["first_deleted_offset"], counted["first_deleted_key"])
        for counted in totals
        if "first_deleted_key" in counted
    ]
    yield from ((key, offset) for offset, key in sorted(found)[:1])


def _keys(totals: list[Counted], *names: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Return for each pair of column names the least key hash and its offset, if there is any."""
    found = (
        min(((counted[key], counted[offset]) for counted in totals if key in counted), default=None)
        for key, offset in names
    )
    return tuple(key for key in found if key is not None)
