"""Test when a key that was not read proves that a topic never had it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topicwarden.audit.scan.compare_records import incomplete_reason
from topicwarden.audit.scan.counts import ContentFault
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent
from topicwarden.model.topic import Topic

WHOLE = PartitionExtent(0, 10, 10, None, None, None)
EMPTY = PartitionExtent(0, 0, 0, None, None, None)
LIVE = LiveTopic(Topic("customers", 2, 1), "id", {}, (), {0: WHOLE, 1: EMPTY})
RANGES = {("customers", 0): OffsetRange(7, "customers", 0, 0, 10)}


def notes(*records: int, **more: object) -> dict[int, list[Note]]:
    """Return the notes of the reader about ranges with these numbers of records."""
    return {7: [{"types": {"CreateTime": [each, 9]}, **more} for each in records]}


def unknown(live: LiveTopic, partition: int) -> bool:
    return False


def test_a_record_at_each_offset_since_the_first_is_proof() -> None:
    assert incomplete_reason(LIVE, RANGES, notes(4, 6), [], unknown) is None


def test_gaps_of_a_whole_log_are_markers_and_aborted_records() -> None:
    questions = []

    def whole(live: LiveTopic, partition: int) -> bool:
        questions.append((live.topic.name, partition))
        return True

    assert incomplete_reason(LIVE, RANGES, notes(4, 5), [], whole) is None
    assert questions == [("customers", 0)]
    assert "open transaction" in (
        incomplete_reason(
            replace(LIVE, extents={0: replace(WHOLE, last_stable=9), 1: EMPTY}), RANGES, notes(9), [], whole
        )
        or ""
    )


@pytest.mark.parametrize(
    ("extent", "found", "reason"),
    [
        (WHOLE, notes(4, 5), "gaps"),
        (WHOLE, {}, "gaps"),
        (replace(WHOLE, start=1), notes(9), "begins at offset 1"),
        (replace(WHOLE, last_stable=9), notes(9), "open transaction"),
        (replace(WHOLE, end=11, last_stable=11), notes(10), "only a part"),
        (WHOLE, notes(10, unread_from=3, unread_reason="damaged"), "damaged, from offset 3"),
        (None, notes(10), "could not be read"),
    ],
)
def test_absence_is_no_proof_if_a_key_may_be_missing(
    extent: PartitionExtent | None, found: dict[int, list[Note]], reason: str
) -> None:
    live = replace(LIVE, extents={1: EMPTY} | ({0: extent} if extent else {}))
    assert reason in (incomplete_reason(live, RANGES, found, [], unknown) or "")


def test_absence_is_no_proof_if_keys_were_not_read_or_not_compared() -> None:
    assert "not read by this audit" in (incomplete_reason(None, {}, {}, [], unknown) or "")
    assert "could not be read" in (incomplete_reason(LIVE, {}, {}, [], unknown) or "")
    fault = ContentFault("3", "not in the declared format", 1, (4,))
    assert "not in the declared format" in (incomplete_reason(LIVE, RANGES, notes(10), [fault], unknown) or "")
    emptied = replace(LIVE, extents={0: WHOLE, 1: replace(EMPTY, start=5, end=5, last_stable=5)})
    assert "begins at offset 5" in (incomplete_reason(emptied, RANGES, notes(10), [], unknown) or "")
