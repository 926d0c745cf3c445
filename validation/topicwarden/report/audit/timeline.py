"""A partition's log as a line of offsets: what of it is settled, what is held, and where findings point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topicwarden.model.finding import Finding, PartitionFacts
from topicwarden.report import display

LEGEND = {
    "overdue": "past retention.ms, and still there",
    "cleanable": "may be cleaned",
    "rolled": "has left the active segment",
    "open": "may be in the active segment",
    "unstable": "behind an open transaction",
}
"""The kinds of stretches, in the order of offsets, and what they mean."""

_MOST_MARKS = 8
_OFFSETS = re.compile(r"(^|_)offset$|^superseded_by$|^last_stable$")


@dataclass(frozen=True)
class OffsetSpan:
    """Offsets ``[start, end)`` of one kind; ``left`` and ``width`` in per cent of the log."""

    kind: str
    start: int
    end: int
    left: float
    width: float


@dataclass(frozen=True)
class TimelineMark:
    """An offset that is spoken of, and by what name; ``left`` in per cent of the log."""

    offset: int
    names: str
    left: float


@dataclass(frozen=True)
class Timeline:
    """One partition that has offsets, from its log's start to its end."""

    facts: PartitionFacts
    start: int
    end: int
    stretches: list[OffsetSpan]
    marks: list[TimelineMark]

    @property
    def text(self) -> str:
        """The same in words, for those who do not see the drawing."""
        parts = [f"partition {self.facts.partition}, offsets {self.start:,} to {self.end:,}"]
        parts += [f"{each.start:,} to {each.end:,} {LEGEND[each.kind]}" for each in self.stretches]
        return "; ".join(parts)


def timeline(facts: PartitionFacts, findings: Iterable[Finding] = ()) -> Timeline | None:
    """The line of one partition, with the offsets that ``findings`` on it name; None where the log is empty."""
    start, end = facts.log_start, facts.log_end
    if start is None or end is None or end <= start:
        return None
    scale = 100 / (end - start)
    stretches = [
        OffsetSpan(kind, low, high, round((low - start) * scale, 3), round((high - low) * scale, 3))
        for kind, low, high in _stretches(facts, start, end)
    ]
    named: dict[int, list[str]] = {}
    for name, offset in _marks(facts, findings):
        if start <= offset <= end and name not in named.setdefault(offset, []):
            named[offset].append(name)
    marks = [
        TimelineMark(offset, ", ".join(names), round((offset - start) * scale, 3))
        for offset, names in sorted(named.items())[:_MOST_MARKS]
    ]
    return Timeline(facts, start, end, stretches, marks)


def _stretches(facts: PartitionFacts, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Kinds between borders that rise: where two claim an offset, the one that comes first in the log has it."""
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
        # What a transaction holds may have rolled; no more is said of it than that it is held.
        at, reached = (max(at, stable), reached) if kind == "unstable" else (at, min(reached, stable))
        if reached > at:
            yield kind, at, reached
            at = reached


def _marks(facts: PartitionFacts, findings: Iterable[Finding]) -> Iterator[tuple[str, int]]:
    for finding in findings:
        spoken = finding.evidence.get("partition")
        here = [spoken] if spoken is not None else finding.partitions
        if here == [facts.partition]:
            for name, value in finding.evidence.items():
                if isinstance(value, int) and _OFFSETS.search(name):
                    yield f"{finding.check}: {display.one_line(name).replace('_', ' ')}", value
    if facts.future_offset is not None:
        yield f"stamped {display.moment(facts.future_timestamp)}, in the future", facts.future_offset
    if facts.last_stable is not None and facts.log_end is not None and facts.last_stable < facts.log_end:
        yield "last stable offset", facts.last_stable
