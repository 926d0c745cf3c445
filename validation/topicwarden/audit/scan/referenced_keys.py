"""Find out whether the keys that were read of a topic are all that it ever had: only then, a missing one is proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.counts import ContentFault
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note, unread_reason
from topicwarden.kafka.read.snapshot import LiveTopic


def incomplete_reason(
    live: LiveTopic | None,
    ranges: Mapping[TopicPartition, OffsetRange],
    notes: Mapping[int, list[Note]],
    unjudged: Iterable[ContentFault],
    is_whole: Callable[[LiveTopic, int], bool],
) -> str | None:
    """Return why a topic may have had keys that were not read; None if no record was ever removed from its logs.

    ``live`` is None if the topic was not read. ``ranges`` are the offsets to read, ``notes`` those of the reader by the
    number of the read, and ``unjudged`` the keys that could not be compared. Without a gap, nothing was deleted or
    compacted, and no record was aborted. ``is_whole`` tells whether the log of a partition with gaps has lost nothing:
    then its gaps are markers and records of aborted transactions.
    """
    if live is None:
        return "its records are not read by this audit, or this user may not read them"
    for number in range(live.topic.partitions):
        found = ranges.get((live.topic.name, number))
        own_notes = notes.get(found.part, []) if found else []
        reason = _partition_reason(live, number, found, own_notes)
        if reason is None and found and _records(own_notes) < found.end and not is_whole(live, number):
            reason = "compaction or deletion may have left gaps, and one may be a deleted key"
        if reason:
            return f"{reason} (partition {number})"
    return "some of its keys are not in the declared format" if any(unjudged) else None


def _partition_reason(live: LiveTopic, number: int, found: OffsetRange | None, notes: list[Note]) -> str | None:
    extent = live.extents.get(number)
    if extent is None or (found is None and extent.start < extent.end):
        return "its records could not be read"
    read = (0, 0) if found is None else (found.start, found.end)  # empty partitions are not read
    reasons = {
        f"its log begins at offset {extent.start:,}: earlier records are gone": extent.start > 0,
        "it has an open transaction": extent.last_stable < extent.end,
        "only a part of its records was read": read != (0, extent.end),
        unread_reason(notes): unread_reason(notes) is not None,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _records(notes: list[Note]) -> int:
    return sum(records for note in notes for records, _ in note["types"].values())
