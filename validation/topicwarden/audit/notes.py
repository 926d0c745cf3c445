"""What the reader noticed (``reader/Notes.java``): a note a range, brought together by partition."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from topicwarden.audit.counts import Fault, Stamped

MOST_OFFSETS = 5
"""That a fault gives."""

_LATE = "timestamp-late"


def faults_of(notes: Iterable[str], max_late: int | None = None) -> tuple[Fault, ...]:
    """The faults that ``notes`` of one partition tell of, the most frequent first.

    A range is read without knowing those before it, so what is late is told again here: by ``max_late``
    (ms) a range's oldest record may be late for a younger one of an earlier range.
    """
    told = sorted((json.loads(note) for note in notes), key=lambda note: note["start"])
    merged: dict[tuple[str, str, bool], Fault] = {}
    for note in told:
        for one in note["faults"]:
            _add(merged, Fault(**{**one, "offsets": tuple(one["offsets"])}))
    if max_late is not None:
        for fault in _late_across(told, max_late):
            _add(merged, fault)
    return tuple(sorted(merged.values(), key=lambda fault: (-fault.count, fault.rule, fault.reason)))


def stamped_of(notes: Iterable[str]) -> dict[str, Stamped]:
    """The types of timestamps that occur, by Kafka's names for them."""
    found: dict[str, Stamped] = {}
    for note in map(json.loads, notes):
        for name, (records, last) in note["types"].items():
            before = found.get(name, Stamped(0, -1))
            found[name] = Stamped(before.records + records, max(before.last_offset, last))
    return found


def _add(merged: dict[tuple[str, str, bool], Fault], fault: Fault) -> None:
    key = fault.rule, fault.reason, fault.undecided
    before = merged.get(key)
    if before:
        offsets = tuple(sorted({*before.offsets, *fault.offsets})[:MOST_OFFSETS])
        fault = Fault(fault.rule, fault.reason, before.count + fault.count, offsets, before.excerpt, fault.undecided)
    merged[key] = fault


def _late_across(told: list[dict[str, Any]], max_late: int) -> Iterable[Fault]:
    highest: int | None = None
    for note in (note for note in told if "highest" in note):
        noted = any(fault["rule"] == _LATE for fault in note["faults"])
        if highest is not None and highest - note["lowest"] > max_late and not noted:
            yield Fault(_LATE, "older than declared", 1, (note["lowest_offset"],))
        highest = note["highest"] if highest is None else max(highest, note["highest"])
