"""Test the oracle of the rules that compare records on a few records whose faults are obvious."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.campaigns.soundness.comparisons import broken_order, duplicates, unknown_references, written_offsets
from tests.campaigns.soundness.logs import Log, Segment
from tests.support.log_files import LogBatch, LogRecord
from topicwarden.model.contents import OrderedRule, ReferenceRule, UniqueRule


def records(*values: Any, key: bytes | None = b"k", times: tuple[int, ...] = ()) -> list[tuple[int, LogRecord]]:
    """Return records of one partition; None is a tombstone, and bytes are written as they are."""
    found = []
    for offset, value in enumerate(values):
        data = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        found.append((0, LogRecord(offset, times[offset] if times else offset, key, data, ())))
    return found


@pytest.mark.parametrize(
    ("versions", "falls", "stays"),
    [
        ((1, 2, 2.0, 1), 1, 2),
        ((2, "1", 1), 0, 0),
        ((3, None, 1), 0, 0),
        (("b", "a", "a"), 1, 2),
    ],
)
def test_versions_fall_within_their_type(versions: tuple[Any, ...], falls: int, stays: int) -> None:
    found = records(*(None if version is None else {"v": version} for version in versions))
    assert broken_order(found, OrderedRule(field="v")) == falls
    assert broken_order(found, OrderedRule(field="v", strict=True)) == stays
    assert broken_order([(0, found[0][1]), (1, found[-1][1])], OrderedRule(field="v", strict=True)) == 0
    assert broken_order(records({"v": 2}, {"v": 1}, key=None), OrderedRule(field="v")) == 0


def test_a_record_without_the_field_is_not_compared() -> None:
    found = records({"v": 2}, b"no JSON", {}, {"v": None}, {"v": 1})
    assert broken_order(found, OrderedRule(field="v")) == 1


def test_identities_are_equal_by_value_and_within_a_time() -> None:
    found = records({"id": 1}, {"id": 1.0}, {"id": "1"}, {"id": None}, {}, None, {"id": 1}, times=(5, 9, 9, 9, 9, 9, 0))
    assert duplicates(found, UniqueRule(fields=("/id",))) == 2
    assert duplicates(found, UniqueRule(fields=("id",), within=4)) == 1
    undated = records({"id": 1}, {"id": 1}, times=(-1, 0))
    assert duplicates(undated, UniqueRule(fields=("id",), within=4)) == 0


def test_references_are_unknown_if_they_are_old_enough() -> None:
    found = records({"ref": "a"}, {"ref": "b"}, {"ref": 7}, {"ref": "b"}, {}, times=(1, 1, 1, 9, 1))
    rule = ReferenceRule(field="ref", topic="t", grace=2)
    assert unknown_references(found, rule, {b"a"}, 10) == 2
    assert unknown_references(found, rule, {b"a", b"7"}, 12) == 2


def test_offsets_of_aborted_records_and_markers_are_not_lost() -> None:
    aborted = LogBatch(0, 1, 80, 5, False, 7, True, None, entries(0, 1))
    marker = LogBatch(2, 2, 80, 5, False, 7, True, False, ())
    cleaned = LogBatch(3, 5, 80, 5, False, -1, False, None, entries(3, 5))
    whole, lossy = (Log(0, 0, False, (Segment(0, 1, batches),)) for batches in ((aborted, marker), (marker, cleaned)))
    assert written_offsets(whole) == [0, 1, 2] == [*range(whole.end)]
    assert written_offsets(lossy) == [2, 3, 5]


def entries(*offsets: int) -> tuple[LogRecord, ...]:
    return tuple(LogRecord(offset, 5, b"k", b"{}", ()) for offset in offsets)
