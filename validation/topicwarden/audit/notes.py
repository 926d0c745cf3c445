"""What the reader noticed (``source/RangeSummary.java``): a note a range, brought together by partition."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from topicwarden.audit.counts import Fault, Stamped

MOST_OFFSETS = 5
"""That a fault gives."""

_LATE = "timestamp-late"


def faults_of(notes: Iterable[str], max_late: int | None = None) -> tuple[Fault, ...]:
    """The faults that ``notes`` of one partition tell of, the most frequent first.

    A range is read without knowing those before it. A record that is late (by more than ``max_late`` ms) only for a
    younger one of an earlier range is not counted there; the number of late records is then a lower bound.
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


def last_gap_of(notes: Iterable[str]) -> int | None:
    """The last offset of these ranges that holds no record."""
    # A note of before ``last_gap`` was known tells nothing: there may be gaps.
    gaps = (note.get("last_gap", note["start"]) for note in map(json.loads, notes))
    return max((gap for gap in gaps if gap is not None), default=None)


def _add(merged: dict[tuple[str, str, bool], Fault], fault: Fault) -> None:
    key = fault.rule, fault.reason, fault.undecided
    before = merged.get(key)
    if before:
        fault = replace(
            before,
            count=before.count + fault.count,
            offsets=tuple(sorted({*before.offsets, *fault.offsets})[:MOST_OFFSETS]),
            at_least=before.at_least or fault.at_least,
        )
    merged[key] = fault


def _late_across(told: list[dict[str, Any]], max_late: int) -> Iterable[Fault]:
    highest: int | None = None
    for note in (note for note in told if "highest" in note):
        noted = any(fault["rule"] == _LATE for fault in note["faults"])
        if highest is not None and highest - note["lowest"] > max_late:
            count, offsets = (0, ()) if noted else (1, (note["lowest_offset"],))
            yield Fault(_LATE, "older than declared", count, offsets, at_least=True)
        highest = note["highest"] if highest is None else max(highest, note["highest"])
