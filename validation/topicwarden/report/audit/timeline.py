"""A partition's log as a line of offsets: the ranges by state of cleaning, and the offsets of findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topicwarden.model.finding import Finding, PartitionFacts
from topicwarden.report import display

LEGEND = {
    "overdue": "older than retention.ms, not deleted",
    "cleanable": "ready for log compaction",
    "rolled": "no longer in the active segment",
    "open": "possibly in the active segment",
    "unstable": "after the last stable offset",
}
"""The kinds of ranges, in the order of offsets, with their descriptions."""

_MAX_MARKS = 8
_OFFSETS = re.compile(r"(^|_)offset$|^superseded_by$|^last_stable$")


@dataclass(frozen=True)
class OffsetSpan:
    """Offsets ``[start, end)`` of one kind; ``left`` and ``width`` in percent of the log."""

    kind: str
    start: int
    end: int
    left: float
    width: float


@dataclass(frozen=True)
class TimelineMark:
    """An offset with the names under which findings refer to it; ``left`` in percent of the log."""

    offset: int
    names: str
    left: float


@dataclass(frozen=True)
class Timeline:
    """The log of one partition from its start to its end offset."""

    facts: PartitionFacts
    start: int
    end: int
    ranges: list[OffsetSpan]
    marks: list[TimelineMark]

    @property
    def text(self) -> str:
        """The timeline in words, for screen readers."""
        parts = [f"partition {self.facts.partition}, offsets {self.start:,} to {self.end:,}"]
        parts += [f"{each.start:,} to {each.end:,} {LEGEND[each.kind]}" for each in self.ranges]
        return "; ".join(parts)


def timeline(facts: PartitionFacts, findings: Iterable[Finding] = ()) -> Timeline | None:
    """Return the timeline of one partition, with the offsets in the evidence of ``findings``; None for an empty log."""
    start, end = facts.log_start, facts.log_end
    if start is None or end is None or end <= start:
        return None
    scale = 100 / (end - start)
    ranges = [
        OffsetSpan(kind, low, high, round((low - start) * scale, 3), round((high - low) * scale, 3))
        for kind, low, high in _offset_ranges(facts, start, end)
    ]
    names_by_offset: dict[int, list[str]] = {}
    for name, offset in _marks(facts, findings):
        if start <= offset <= end and name not in names_by_offset.setdefault(offset, []):
            names_by_offset[offset].append(name)
    marks = [
        TimelineMark(offset, ", ".join(names), round((offset - start) * scale, 3))
        for offset, names in sorted(names_by_offset.items())[:_MAX_MARKS]
    ]
    return Timeline(facts, start, end, ranges, marks)


def _offset_ranges(facts: PartitionFacts, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, start and end of each range, in ascending order. An offset has the first kind that applies."""
    stable = end if facts.last_stable is None else min(max(facts.last_stable, start), end)
    borders = (
        ("overdue", facts.overdue),
        ("cleanable", facts.cleanable),
        ("rolled", facts.rolled),
        ("open", stable if facts.rolled is not None else None),
        ("unstable", end if stable < end else None),
    )
    at = start
    for kind, border in borders:
        reached = at if border is None else min(max(border, at), end)
        # Offsets after the last stable offset are "unstable", even if they are no longer in the active segment.
        at, reached = (max(at, stable), reached) if kind == "unstable" else (at, min(reached, stable))
        if reached > at:
            yield kind, at, reached
            at = reached


def _marks(facts: PartitionFacts, findings: Iterable[Finding]) -> Iterator[tuple[str, int]]:
    for finding in findings:
        partition = finding.evidence.get("partition")
        partitions = [partition] if partition is not None else finding.partitions
        if partitions == [facts.partition]:
            for name, value in finding.evidence.items():
                if isinstance(value, int) and _OFFSETS.search(name):
                    yield f"{finding.check}: {display.one_line(name).replace('_', ' ')}", value
    if facts.future_offset is not None:
        yield f"timestamp {display.timestamp(facts.future_timestamp)} in the future", facts.future_offset
    if facts.last_stable is not None and facts.log_end is not None and facts.last_stable < facts.log_end:
        yield "last stable offset", facts.last_stable
