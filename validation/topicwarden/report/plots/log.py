"""A partition's log as a line of offsets: the ranges by state of cleaning, and the offsets of findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from topicwarden.model.finding import Finding, PartitionFacts
from topicwarden.report import display
from topicwarden.report.markup import Markup, tag

LEGEND: Final = {
    "overdue": "older than retention.ms, not deleted",
    "cleanable": "ready for log compaction",
    "rolled": "no longer in the active segment",
    "open": "possibly in the active segment",
    "unstable": "after the last stable offset",
}
"""The kinds of ranges, in the order of offsets, with their descriptions."""

_MAX_MARKS: Final = 8
_OFFSETS: Final = re.compile(r"(^|_)offset$|^superseded_by$|^last_stable$")


class Timeline(NamedTuple):
    """The log of a partition: its kinds of offset ranges ``[start, end)``, and the names of offsets in findings."""

    facts: PartitionFacts
    start: int
    end: int
    ranges: list[tuple[str, int, int]]
    marks: list[tuple[int, str]]

    def percent(self, offset: int) -> str:
        """Return how far ``offset`` is from the start of the log, in percent of the log."""
        return f"{round((offset - self.start) * 100 / (self.end - self.start), 3)}%"


def timeline(facts: PartitionFacts, findings: Iterable[Finding] = ()) -> Timeline | None:
    """Return the timeline of one partition, with the offsets in the evidence of ``findings``; None for an empty log."""
    start, end = facts.log_start, facts.log_end
    if start is None or end is None or end <= start:
        return None
    names: dict[int, dict[str, None]] = {}
    for name, offset in _marks(facts, findings):
        if start <= offset <= end:
            names.setdefault(offset, {})[name] = None
    marks = [(offset, ", ".join(named)) for offset, named in sorted(names.items())[:_MAX_MARKS]]
    return Timeline(facts, start, end, list(_offset_ranges(facts, start, end)), marks)


def log_drawing(timelines: Sequence[Timeline]) -> Markup:
    """Return a line for each partition, below a legend of the kinds of ranges."""
    used = {kind for each in timelines for kind, *_ in each.ranges}
    legend = [
        tag("li", tag("i", class_=kind, aria_hidden="true"), f" {meaning}")
        for kind, meaning in LEGEND.items()
        if kind in used
    ]
    shown = tag("ul", *legend, class_="legend") if legend else ""
    return tag("div", shown, tag("ul", *map(_log, timelines)), class_="logs")


def _log(shown: Timeline) -> Markup:
    facts, (start, end) = shown.facts, (shown.start, shown.end)
    counts = (facts.records, "records read"), (facts.tombstones, "tombstones"), (facts.superseded, "superseded")
    parts = [f"{end - start:,} offsets", *(f"{number:,} {what}" for number, what in counts if number)]
    kept = f"; not cleaned: {facts.held_by}" if facts.held_by else ""
    words = [f"partition {facts.partition}, offsets {start:,} to {end:,}"]
    words += [f"{low:,} to {high:,} {LEGEND[kind]}" for kind, low, high in shown.ranges]
    drawn = [
        tag("i", class_=kind, style=f"left:{shown.percent(low)};width:{shown.percent(start + high - low)}")
        for kind, low, high in shown.ranges
    ]
    drawn += [tag("b", style=f"left:{shown.percent(offset)}") for offset, _ in shown.marks]
    ends = []
    for offset, word, time in ((start, "oldest", facts.first_timestamp), (end, "newest", facts.last_timestamp)):
        dated = tag("small", f"{word} {display.timestamp(time)}") if time is not None else ""
        ends.append(tag("span", f"{offset:,}", dated))
    named = [tag("li", tag("b", f"{offset:,}"), f" {names}") for offset, names in shown.marks]
    return tag(
        "li",
        tag("p", tag("b", f"Partition {facts.partition}"), " ", tag("span", f"{', '.join(parts)}{kept}")),
        tag("div", *drawn, class_="track", role="img", aria_label="; ".join(words)),
        tag("p", *ends, class_="ends"),
        tag("ul", *named, class_="marks", aria_label="Offsets in findings") if named else "",
        class_="log",
    )


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
