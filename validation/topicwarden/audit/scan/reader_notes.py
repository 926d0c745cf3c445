"""The totals that the reader reports of a partition, and its notes on each range (``RangeSummary.java``), merged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from topicwarden.audit.scan.counts import ContentFault, Merge, PersonalField, SchemaIdCount, TimestampTypeCount

Note: TypeAlias = dict[str, Any]
"""A note of the reader, from its JSON."""

MOST_OFFSETS = 5
"""The most offsets that a fault lists."""

DENIED = "TopicAuthorizationException"
"""The exception in the reason of a range that the user may not read."""
GRANT_READ = "grant Read on the topic"

LATE = "timestamp-late"
_TIMESTAMPS = frozenset({"highest", "lowest", "lowest_offset"})
_BY_BLOCK = frozenset({"arrivals", "personal"})
"""Lists of rows that begin with the block of offsets."""


def merge_faults(notes: Iterable[Note], max_late: int | None, log_start: int = 0) -> tuple[ContentFault, ...]:
    """Return the faults in the ``notes`` of one partition, the most frequent first.

    The reader does not know the earlier ranges. So it does not count a record that is late (by more than ``max_late``
    ms) only in comparison with a record of an earlier range; the number of late records is then a lower bound. If that
    earlier record may be one that was deleted, because its range begins before ``log_start``, the fault is undecided.
    """
    in_order = sorted(notes, key=lambda note: note["start"])
    merged: dict[tuple[str, str, bool], ContentFault] = {}
    for note in in_order:
        for fault in note["faults"]:
            _add(merged, ContentFault(**{**fault, "offsets": tuple(fault["offsets"])}))
    if max_late is not None:
        for late in _late_across_ranges(in_order, max_late, log_start):
            _add(merged, late)
    return tuple(sorted(merged.values(), key=lambda fault: (-fault.count, fault.rule, fault.reason)))


def schema_ids(notes: Iterable[Note]) -> tuple[SchemaIdCount, ...]:
    """Return the counts of records by the schema id that they name (``SchemaIds.java``), by the first offset."""
    merged: dict[tuple[str, int | str | None, bool], tuple[int, int]] = {}
    for note in notes:
        for part, rows in note.get("ids", {}).items():
            for _, id, invalid, records, first in rows:
                before = merged.get((part, id, invalid), (0, first))
                merged[part, id, invalid] = before[0] + records, min(before[1], first)
    counts = (_schema_id_count(*key, *counted) for key, counted in merged.items())
    return tuple(sorted(counts, key=lambda found: (found.part, found.first, found.invalid)))


def arrivals(notes: Iterable[Note]) -> tuple[dict[int, int], int]:
    """Return the records of each interval (``ArrivalCounts.java``), by its start (ms), and those without one."""
    records: Counter[int | None] = Counter()
    for note in notes:
        for _, interval, number in note.get("arrivals", ()):
            records[interval] += number
    scattered = records.pop(None, 0)
    return {start: number for start, number in sorted(records.items()) if start is not None}, scattered


def personal_fields(notes: Iterable[Note]) -> tuple[tuple[PersonalField, ...], int]:
    """Return the fields that look like personal data (``PersonalFields.java``), and how many records were looked at."""
    found: Counter[tuple[str, str] | None] = Counter()
    for note in notes:
        for _, path, kind, records in note.get("personal", ()):
            found[None if path is None else (path, kind)] += records
    sampled = found.pop(None, 0)
    fields = (PersonalField(*key, records) for key, records in found.items() if key is not None)
    return tuple(sorted(fields, key=lambda field: (field.path, field.kind))), sampled


def without_blocks_before(note: Note, block: int) -> Note:
    """Return a note without what the reader counted by block of offsets, in the blocks before ``block``."""
    kept: Note = {name: [row for row in note[name] if row[0] >= block] for name in _BY_BLOCK & note.keys()}
    if "ids" in note:
        kept["ids"] = {part: [row for row in rows if row[0] >= block] for part, rows in note["ids"].items()}
    return note | kept


def without_timestamps(note: Note) -> Note:
    """Return the note on records that are read again: the first note on them compares their timestamps with others."""
    return {name: value for name, value in note.items() if name not in _TIMESTAMPS}


def timestamp_types(notes: Iterable[Note], log_start: int = 0) -> dict[str, TimestampTypeCount]:
    """Return the counts of records by timestamp type, with Kafka's names of the types.

    A type is left out if all of its records were deleted.
    """
    found: dict[str, TimestampTypeCount] = {}
    for note in notes:
        for name, (records, last) in note["types"].items():
            if last < log_start:
                continue
            before = found.get(name, TimestampTypeCount(0, -1))
            found[name] = TimestampTypeCount(before.records + records, max(before.last_offset, last))
    return found


def last_gap(notes: Iterable[Note], log_start: int = 0) -> int | None:
    """Return the last offset in these ranges without a record; None if there is no gap from ``log_start`` on."""
    # Notes from earlier versions have no ``last_gap``. The range may have gaps, so its start counts as one.
    gaps = (note.get("last_gap", note["start"]) for note in notes)
    return max((gap for gap in gaps if gap is not None and gap >= log_start), default=None)


def unread_reason(notes: Iterable[Note]) -> str | None:
    """Return why the reader gave up one of these ranges; None if all were read to their end."""
    given_up = [note for note in notes if "unread_from" in note]
    if not given_up:
        return None
    first = min(given_up, key=lambda note: int(note["unread_from"]))
    advice = f"; {GRANT_READ}" if DENIED in first["unread_reason"] else ""
    return f"{first['unread_reason']}, from offset {first['unread_from']:,} on{advice}"


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


def _late_across_ranges(notes: list[Note], max_late: int, log_start: int) -> Iterable[ContentFault]:
    """Yield a fault for each range with a record that is late compared with a record of an earlier range.

    The highest timestamp of a range that begins before the log start may be that of a deleted record.
    """
    present, perhaps_deleted = -1, -1  # the highest timestamps so far
    for note in (note for note in notes if "highest" in note):
        noted = any(fault["rule"] == LATE for fault in note["faults"])
        count, offsets = (0, ()) if noted else (1, (note["lowest_offset"],))
        if present - note["lowest"] > max_late:
            yield ContentFault(LATE, "older than declared", count, offsets, at_least=True)
        elif perhaps_deleted - note["lowest"] > max_late:
            yield ContentFault(LATE, "older than a record that may be deleted", 1, offsets, undecided=True)
        if note["start"] < log_start:
            perhaps_deleted = max(perhaps_deleted, note["highest"])
        else:
            present = max(present, note["highest"])


Counted = dict[str, int]
"""Counts by the field names of ``PartitionCounts``; a count is absent if there is nothing to count."""


@dataclass(frozen=True)
class RangeTotals:
    """The totals that one task reports for the partition with the number ``part`` in the scan.

    ``bands``: the counts of each age band. ``notes``: the reader's notes on the records. ``keys``: the counts of the
    keys. ``before``: what earlier audits had counted for the same keys. ``read``: the records that this audit read, if
    blocks of earlier audits are added.
    """

    part: int
    bands: list[Counted]
    notes: list[Note]
    keys: Counted = field(default_factory=dict)
    before: Counted = field(default_factory=dict)
    read: int = 0

    @staticmethod
    def from_json(text: str) -> RangeTotals:
        """Return the totals that ``PartitionTotals.java`` wrote as ``text``."""
        totals: dict[str, Any] = json.loads(text)
        keys = totals.pop("keys", {})
        notes = [json.loads(note) for note in totals.pop("notes")]
        return RangeTotals(**totals, notes=notes, keys=keys, before=keys.pop("before", {}))
