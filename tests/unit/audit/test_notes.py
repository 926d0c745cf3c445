"""Test how the reader's notes on several ranges of a partition are merged."""

from __future__ import annotations

import json
from typing import Any

from tests.support.subjects import NOW, subject
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.reader_notes import last_gap, merge_faults
from topicwarden.model.contents import Contents, TimestampContents
from topicwarden.model.verdict import Verdict

MAX_LATE = 1_000


def note(start: int, lowest: int, highest: int, late: tuple[int, ...] = (), **more: Any) -> str:
    """Return the note on a range with timestamps from ``lowest`` to ``highest``; offsets ``late`` are late."""
    fault = {"rule": "timestamp-late", "reason": "older than declared", "excerpt": "", "undecided": False}
    return json.dumps({
        "start": start,
        "highest": NOW + highest,
        "lowest": NOW + lowest,
        "lowest_offset": start + 5,
        "types": {},
        "faults": [{**fault, "count": len(late), "offsets": late}] if late else [],
        "last_gap": None,
        **more,
    })  # fmt: skip


def message(*notes: str) -> str:
    contents = Contents(timestamps=TimestampContents(max_late=MAX_LATE))
    counts = PartitionCounts(records=9, faults=merge_faults(notes, MAX_LATE))
    (judgement,) = CHECKS["timestamp-late"].judge(subject(counts, contents=contents))
    assert judgement.verdict is Verdict.FAIL
    return judgement.message.partition(" with a timestamp")[0]


def test_late_records_of_one_range_are_counted() -> None:
    assert message(note(0, 0, 5_000, late=(3, 4)), note(100, 5_000, 6_000)) == "2 records"


def test_late_records_of_an_earlier_range_make_a_lower_bound() -> None:
    assert message(note(0, 4_500, 5_000), note(100, 3_000, 3_500)) == "at least 1 record"
    assert message(note(0, 4_500, 5_000), note(100, 1_000, 6_000, late=(110,))) == "at least 1 record"


def test_a_gap_in_any_range_is_a_gap() -> None:
    assert last_gap([note(0, 0, 0), note(100, 0, 0)]) is None
    assert last_gap([note(0, 0, 0, last_gap=7), note(100, 0, 0)]) == 7


def test_a_summary_without_gaps_may_have_gaps() -> None:
    reported = json.loads(note(100, 0, 0))
    del reported["last_gap"]
    assert last_gap([json.dumps(reported)]) == 100
