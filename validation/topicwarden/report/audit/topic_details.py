"""Make the folded details of topics on the page of an audit: metadata, findings, logs, and tables of partitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from topicwarden.model.finding import Finding, PartitionerFacts, PartitionFacts, TopicFacts
from topicwarden.model.message_text import counted
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.audit.digest import SYMBOLS, AuditDigest, TopicDigest
from topicwarden.report.document import line, muted, strong
from topicwarden.report.page import Markup, tag

LEGEND: Final = {
    "overdue": "older than retention.ms, not deleted",
    "cleanable": "ready for log compaction",
    "rolled": "no longer in the active segment",
    "open": "possibly in the active segment",
    "unstable": "after the last stable offset",
}
"""The kinds of ranges, in the order of offsets, with their descriptions."""

_MAX_MARKS: Final = 8
_OFFSET_NAMES: Final = re.compile(r"(^|_)offset$|^superseded_by$|^last_stable$")


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
                if isinstance(value, int) and _OFFSET_NAMES.search(name):
                    yield f"{finding.check}: {display.one_line(name).replace('_', ' ')}", value
    if facts.future_offset is not None:
        yield f"timestamp {display.timestamp(facts.future_timestamp)} in the future", facts.future_offset
    if facts.last_stable is not None and facts.log_end is not None and facts.last_stable < facts.log_end:
        yield "last stable offset", facts.last_stable


MAX_DETAILED: Final = 100
"""Number of topics with details, so that the page opens quickly. report.json contains the details of all topics."""
MAX_PARTITIONS: Final = 200
"""Number of partitions on the page. report.json contains all partitions."""

_Cells: TypeAlias = Mapping[doc.Column | str, Callable[[PartitionFacts], str]]
_RECORDS: Final[_Cells] = {
    doc.number("#"): lambda each: str(each.partition),
    doc.number("Records"): lambda each: display.count(each.records),
    doc.number("Null keys"): lambda each: display.count(each.null_keys),
    doc.number("Tombstones"): lambda each: display.count(each.tombstones),
    doc.number("Empty values"): lambda each: display.count(each.empty_values),
    doc.number("Keys"): lambda each: display.count(each.keys),
    doc.number("Superseded"): lambda each: display.count(each.superseded),
    doc.number("Hottest key"): lambda each: display.count(each.hottest),
    doc.number("Payload"): lambda each: display.size(each.payload_bytes),
    doc.number("Mean record"): lambda each: display.size(_mean(each)),
    doc.number("Largest record"): lambda each: display.size(each.largest_record),
    "Oldest": lambda each: display.timestamp(each.first_timestamp),
    "Newest": lambda each: display.timestamp(each.last_timestamp),
}
_OFFSETS: Final[_Cells] = {
    doc.number("#"): lambda each: str(each.partition),
    doc.number("Leader"): lambda each: "none" if each.leader is None else str(each.leader),
    "Replicas": lambda each: ", ".join(map(str, each.replicas)),
    "In sync": lambda each: ", ".join(map(str, each.in_sync)),
    doc.number("Log start"): lambda each: display.count(each.log_start),
    doc.number("Read from"): lambda each: display.count(each.read_from),
    doc.number("Last stable"): lambda each: display.count(each.last_stable),
    doc.number("Log end"): lambda each: display.count(each.log_end),
    doc.number("Lost to retention"): lambda each: display.count(each.lost_to_retention),
    doc.number("Other gaps"): lambda each: display.count(each.gaps),
    doc.number("On disk"): lambda each: display.size(each.log_bytes),
}


class TopicDetails:
    """The details of the first topics. ``found`` returns the lines of a topic's findings."""

    def __init__(
        self,
        view: AuditDigest,
        refs: Mapping[str, doc.TopicRef],
        found: Callable[[TopicDigest], Iterable[doc.Paragraph]],
    ) -> None:
        self._topics = [(topic, topic.facts) for topic in view.topics if topic.facts]
        self._refs, self._found, self._partitions = refs, found, MAX_PARTITIONS

    def block(self) -> doc.Block:
        """Return the list of topics; those above ``MAX_DETAILED`` are only counted: their tables would take seconds."""
        topics = [self._topic(topic, facts) for topic, facts in self._topics[:MAX_DETAILED]]
        others = [doc.Paragraph(())] * (len(self._topics) - len(topics))
        return doc.Many((*topics, *others), "topic", MAX_DETAILED, "the details of ", style="topic-list")

    def _topic(self, topic: TopicDigest, facts: TopicFacts) -> doc.Details:
        counts = f"{counted(len(facts.partitions), 'partition')}, {counted(facts.records or 0, 'record')}"
        word = doc.badge(f"{SYMBOLS[topic.verdict]} {topic.verdict.value}", doc.Tone(topic.verdict.value))
        summary = line(word, " ", strong(topic.name), " ", muted(topic.absence or counts))
        blocks: list[doc.Block] = [doc.FactList(doc.facts(_traits(facts)))]
        if found := tuple(self._found(topic)):
            blocks.append(doc.Many(found, "finding", style="found"))
        if topic.passed:
            blocks.append(doc.Paragraph(line(muted("Passed"), f" {', '.join(topic.passed)}")))
        blocks += self._of_partitions(topic, sorted(facts.partitions, key=lambda each: each.partition))
        if facts.ages:
            columns = tuple(doc.number(display.age(band.from_ms, band.to_ms)) for band in facts.ages)
            row = doc.Row(tuple(line(display.count(band.records)) for band in facts.ages))
            blocks.append(doc.Table(columns, (row,), "Records by age", titled=True, style="ages"))
        return doc.Details(summary, tuple(blocks), doc.TopicRef(self._refs[topic.name].anchor))

    def _of_partitions(self, topic: TopicDigest, partitions: Sequence[PartitionFacts]) -> Iterator[doc.Block]:
        if len(partitions) > self._partitions:
            yield doc.Paragraph(line(muted(doc.omitted(len(partitions), "partition", "report.json has all"))))
            return
        self._partitions -= len(partitions)
        logs: list[Timeline] = [shown for each in partitions if (shown := timeline(each, topic.findings))]
        if logs:
            yield doc.Plot("", "Logs, from the first to the last offset", "", drawing=log_drawing(logs))
        mean = sum(each.records or 0 for each in partitions) / (len(partitions) or 1)
        (number, records, *others) = _RECORDS.items()
        multiple = (
            doc.number("Multiple of mean"),
            lambda each: display.multiple(each.records / mean if mean and each.records is not None else None),
        )
        of_records = dict((number, records, multiple, *others))
        for caption, cells in (("Records read, by partition", of_records), ("Replicas and offsets", _OFFSETS)):
            if partitions:
                table = doc.grid(partitions, cells)
                yield doc.Table(*table, caption, titled=True, noun="partition", style="parts")


def _mean(facts: PartitionFacts) -> float | None:
    return (facts.payload_bytes or 0) / facts.records if facts.records else None


def _traits(facts: TopicFacts) -> dict[str, list[str]]:
    policy = facts.cleanup_policy
    return {
        "domain": [facts.domain or display.NOTHING],
        "owner": [facts.owner or ""],
        "declared": ["yes" if facts.declared else "no"],
        "topic id": [facts.topic_id or ""],
        "cleanup.policy": ["" if policy is None else policy or "(empty)"],
        "partitioner": [_partitioner(facts.partitioner) if facts.partitioner else ""],
        "hottest key": [_hottest(facts)],
    }


def _hottest(facts: TopicFacts) -> str:
    """Return the share, the partition and the offset of the most frequent key; empty if keys were not counted."""
    known = [partition for partition in facts.partitions if partition.hottest]
    if not known or not facts.records:
        return ""
    hottest = max(known, key=lambda partition: partition.hottest or 0)
    first = "" if hottest.hottest_offset is None else f", first at offset {hottest.hottest_offset:,}"
    return f"{(hottest.hottest or 0) / facts.records:.1%} of the records, in partition {hottest.partition}{first}"


def _partitioner(facts: PartitionerFacts) -> str:
    """Return the conclusion on the producers' partitioner, and the share of keys that each candidate explains."""
    names = f": {' and '.join(facts.algorithms)}" if facts.algorithms else ""
    scores = sorted(facts.scores.items(), key=lambda score: (-score[1], score[0]))
    explained = ", ".join(f"{name} {share:.1%}" for name, share in scores)
    return f"{facts.conclusion}{names}; keys explained (of {facts.keys:,}): {explained}"
