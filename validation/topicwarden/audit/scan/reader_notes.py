"""Merge the reader's notes (``RangeSummary.java``) by partition; the reader writes one note for each range."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from topicwarden.audit.scan.counts import ContentFault, Merge, SchemaIdCount, TimestampTypeCount

MOST_OFFSETS = 5
"""The most offsets that a fault lists."""

_LATE = "timestamp-late"
_BY_BLOCK = frozenset({"arrivals", "personal"})
"""Lists of rows that begin with the block of offsets."""


def merge_faults(notes: Iterable[str], max_late: int | None) -> tuple[ContentFault, ...]:
    """Return the faults in the ``notes`` of one partition, the most frequent first.

    The reader does not know the earlier ranges. So it does not count a record that is late (by more than ``max_late``
    ms) only in comparison with a record of an earlier range; the number of late records is then a lower bound.
    """
    parsed = sorted((json.loads(note) for note in notes), key=lambda note: note["start"])
    merged: dict[tuple[str, str, bool], ContentFault] = {}
    for note in parsed:
        for fault in note["faults"]:
            _add(merged, ContentFault(**{**fault, "offsets": tuple(fault["offsets"])}))
    if max_late is not None:
        for late in _late_across_ranges(parsed, max_late):
            _add(merged, late)
    return tuple(sorted(merged.values(), key=lambda fault: (-fault.count, fault.rule, fault.reason)))


def schema_ids(notes: Iterable[str]) -> tuple[SchemaIdCount, ...]:
    """Return the counts of records by the schema id that they name (``SchemaIds.java``), by the first offset."""
    merged: dict[tuple[str, int | str | None, bool], tuple[int, int]] = {}
    for note in notes:
        for part, rows in json.loads(note).get("ids", {}).items():
            for _, id, invalid, records, first in rows:
                before = merged.get((part, id, invalid), (0, first))
                merged[part, id, invalid] = before[0] + records, min(before[1], first)
    counts = (_schema_id_count(*key, *counted) for key, counted in merged.items())
    return tuple(sorted(counts, key=lambda found: (found.part, found.first, found.invalid)))


def without_blocks_before(note: str, block: int) -> str:
    """Return a note without what the reader counted by block of offsets, in the blocks before ``block``."""
    parsed = json.loads(note)
    if not parsed.keys() & {"ids", *_BY_BLOCK}:
        return note
    for part, rows in parsed.get("ids", {}).items():
        parsed["ids"][part] = [row for row in rows if row[0] >= block]
    for name in _BY_BLOCK & parsed.keys():
        parsed[name] = [row for row in parsed[name] if row[0] >= block]
    return json.dumps(parsed)


def timestamp_types(notes: Iterable[str]) -> dict[str, TimestampTypeCount]:
    """Return the counts of records by timestamp type, with Kafka's names of the types."""
    found: dict[str, TimestampTypeCount] = {}
    for note in map(json.loads, notes):
        for name, (records, last) in note["types"].items():
            before = found.get(name, TimestampTypeCount(0, -1))
            found[name] = TimestampTypeCount(before.records + records, max(before.last_offset, last))
    return found


def last_gap(notes: Iterable[str]) -> int | None:
    """Return the last offset in these ranges without a record; None if there is no gap."""
    # Notes from earlier versions have no ``last_gap``. The range may have gaps, so its start counts as one.
    gaps = (note.get("last_gap", note["start"]) for note in map(json.loads, notes))
    return max((gap for gap in gaps if gap is not None), default=None)


def unread_reason(notes: Iterable[str]) -> str | None:
    """Return why the reader gave up one of these ranges; None if all were read to their end."""
    given_up = [note for note in map(json.loads, notes) if "unread_from" in note]
    if not given_up:
        return None
    first = min(given_up, key=lambda note: int(note["unread_from"]))
    return f"{first['unread_reason']}, from offset {first['unread_from']:,} on"


def _add(merged: dict[tuple[str, str, bool], ContentFault], fault: ContentFault) -> None:
    key = fault.rule, fault.reason, fault.undecided
    before = merged.get(key)
    if before:
        fault = replace(
            before,
            count=before.count + fault.count,
            offsets=tuple(sorted({*before.offsets, *fault.offsets})[:MOST_OFFSETS]),
            at_least=before.at_least or fault.at_least,
            last_offset=_highest(before.last_offset, fault.last_offset),
            newest=_highest(before.newest, fault.newest),
        )
    merged[key] = fault


def _schema_id_count(part: str, id: int | str | None, invalid: bool, records: int, first: int) -> SchemaIdCount:
    """Return the count; the reader writes ``others`` in place of an id for all further ids."""
    return SchemaIdCount(part, None if isinstance(id, str) else id, records, first, invalid, isinstance(id, str))


def _highest(*numbers: int | None) -> int | None:
    return Merge.MAX.of(number for number in numbers if number is not None)


def _late_across_ranges(notes: list[dict[str, Any]], max_late: int) -> Iterable[ContentFault]:
    highest: int | None = None
    for note in (note for note in notes if "highest" in note):
        noted = any(fault["rule"] == _LATE for fault in note["faults"])
        if highest is not None and highest - note["lowest"] > max_late:
            count, offsets = (0, ()) if noted else (1, (note["lowest_offset"],))
            yield ContentFault(_LATE, "older than declared", count, offsets, at_least=True)
        highest = note["highest"] if highest is None else max(highest, note["highest"])
