"""Make the page of an audit: findings, trend, plots, and the partitions of each topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from topicwarden.model.finding import AuditReport, Finding, PartitionerFacts, PartitionFacts, PastAudit, TopicFacts
from topicwarden.model.message_text import counted as counted_noun
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display, page
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.cards import FindingCard, FindingCards, cards
from topicwarden.report.audit.digest import (
    NEXT_STEP,
    SYMBOLS,
    AuditDigest,
    FindingGroup,
    TopicDigest,
    age_of,
    digest,
    time_span,
)
from topicwarden.report.audit.figures import figures
from topicwarden.report.audit.timeline import LEGEND, Timeline, timeline
from topicwarden.report.document import (
    OFFLINE,
    Block,
    Card,
    Column,
    Details,
    Document,
    DocumentSection,
    FactList,
    Filter,
    FindingBlock,
    LabelledValues,
    Line,
    Many,
    Note,
    Paragraph,
    Plot,
    Role,
    Row,
    Span,
    Table,
    Tone,
    TopicRef,
    badge,
    code,
    line,
    muted,
    name,
    omitted,
    prose,
    strong,
)
from topicwarden.report.page import tag

MAX_DETAILED: Final = 100
"""Number of topics with details, so that the page opens quickly. report.json contains the details of all topics."""
MAX_PARTITIONS: Final = 200
"""Number of partitions on the page. report.json contains all partitions."""
_MOST_GROUPS: Final = 12
_MOST_AUDITS: Final = 30
_MOST_ENDED: Final = 500
_MOST_NOTED: Final = 200
_COMPLETE: Final = "report.json has all"
_WORDS: Final = tuple(verdict.value for verdict in WORST_FIRST)
_ATTENTION_LEAD: Final = (
    "The worst come first. A fail is proven. A suspect becomes a fail if the next audit still finds it. An undecidable"
    " finding names the missing information."
)
_TOPICS_LEAD: Final = (
    "The worst come first, then by name. Times are in UTC. Skew is the number of records in the largest partition"
    " divided by the mean."
)
_DETAILS_LEAD: Final = (
    "For engineers: the metadata and the records of each topic. The counts are numbers of records that were read."
)
_SHOWN: Final = {"age": "the worst first", "size": "the largest", "skew": "those with the highest skew"}
"""The topics of each plot that has not all."""


def render(report: AuditReport, background: ReportBackground | None = None) -> str:
    """Return the whole page. It sends no network requests, and only its filter needs JavaScript."""
    return page.write(_AuditPage(digest(report), background or ReportBackground()).document())


class _AuditPage:
    def __init__(self, view: AuditDigest, background: ReportBackground) -> None:
        self._view, self._report, self._background = view, view.report, background
        self._cards: FindingCards = cards(view, background)
        self._with_facts = [(each, each.facts) for each in view.topics if each.facts]
        self._detailed = {topic.name: topic for topic, _ in self._with_facts[:MAX_DETAILED]}
        self._anchors = {topic.name: f"topic-{number}" for number, topic in enumerate(view.topics, start=1)}

    def document(self) -> Document:
        view, report = self._view, self._report
        started = display.timestamp(report.started)
        made = f"Made by topicwarden {report.topicwarden} from {counted_noun(report.scanned_records, 'record')}."
        return Document(
            *view.title,
            view.headline,
            view.summary,
            tuple(section for section in self._sections() if section.blocks),
            _COMPLETE,
            notes=tuple(Note("", prose(limit)) for limit in view.limits),
            notes_title="Limits of this audit",
            facts=(
                ("started", started),
                ("took", display.duration(report.finished - report.started)),
                ("cluster", report.cluster_id or "unknown"),
            ),
            cards=tuple(
                Card(verdict.value, display.count(view.counts[verdict]), _tone(verdict), SYMBOLS[verdict])
                if view.counts[verdict]
                else Card(verdict.value, "0", symbol=SYMBOLS[verdict], quiet=True)
                for verdict in WORST_FIRST
            ),
            links=(("Use and cost of topics", "usage.html"),) if report.usage else (),
            filter=Filter("name, domain, owner or check", "Verdict", _WORDS),
            page_title=f"{report.stack}: audit of {started}",
            source=line(f"{made} report.json contains the same data for programs. {OFFLINE}"),
            next_step=NEXT_STEP,
            next_command=view.next_step,
        )

    def _sections(self) -> Iterator[DocumentSection]:
        report, view = self._report, self._view
        yield DocumentSection("Needs attention", tuple(self._attention()), _ATTENTION_LEAD, "attention")
        for title, word, ended, why in (
            ("Resolved since the last audit", "resolved", report.resolved, "found, and this one no longer finds"),
            ("Withdrawn since the last audit", "withdrawn", report.withdrawn, "found by a rule that is no more"),
        ):
            lines = tuple(
                Paragraph(
                    line(
                        _badge(each.verdict),
                        f" {each.check} ",
                        name(each.topic),
                        f", open since {display.timestamp(each.since)}",
                    )
                )
                for each in ended
            )
            many = (Many(lines, "finding", _MOST_ENDED),) if lines else ()
            yield DocumentSection(title, many, f"What the last audit of these topics {why}.", word)
        settled = "Findings of the last audit that this audit checked again, with the previous and the current verdict."
        yield DocumentSection("Since the last audit", (self._settled(),) if view.settled else (), settled, "settled")
        yield DocumentSection("Overview", (Many(tuple(self._overview()), "table", style="figures"),), id="overview")
        yield DocumentSection("Age, size and skew", (Many(tuple(self._plots()), "plot", style="figures"),), id="plots")
        noted = tuple(
            self._group(topic, tuple(self._finding(each, is_open=False) for each in topic.notes))
            for topic in view.noted
        )
        many_noted = (Many(noted, "topic", _MOST_NOTED, "the notes of "),) if noted else ()
        yield DocumentSection("Notes", many_noted, "Observations that can look like faults, but are expected.", "notes")
        yield DocumentSection("All topics", (self._topics(),), _TOPICS_LEAD, "topics")
        yield DocumentSection("Partitions and checks", (self._details(),), _DETAILS_LEAD, "details")

    def _attention(self) -> Iterator[Block]:
        if not self._view.attention:
            return
        columns = (
            Column("Check", "name"),
            *(Column(verdict.value.capitalize(), "number") for verdict in WORST_FIRST[:3]),
            Column("Requirement", "name says"),
        )
        rows = (
            Row(
                (
                    line(name(row.check, f"#finding-{row.first}" if row.first else "")),
                    *(line(display.count(row.verdicts[verdict])) for verdict in WORST_FIRST[:3]),
                    line(row.summary or display.NOTHING),
                )
            )
            for row in self._cards.by_check
        )
        yield Table(columns, tuple(rows), "By check", titled=True, style="checks stacked")
        for topic, found in self._cards.by_topic:
            yield self._group(topic, tuple(self._finding(card.finding, card) for card in found))
        if self._cards.omitted:
            yield Paragraph(line(muted(omitted(self._cards.omitted, "finding", _COMPLETE))))

    def _group(self, topic: TopicDigest, blocks: tuple[Block, ...]) -> DocumentSection:
        reference = TopicRef(self._anchors[topic.name])
        if not topic.facts:
            reference = TopicRef(reference.anchor, _search_text(topic), topic.verdict.value)
        owner = (" ", muted(topic.owner)) if topic.owner else ()
        return DocumentSection(topic.name, blocks, heading=line(*self._name(topic), *owner), topic=reference)

    def _name(self, topic: TopicDigest) -> Line:
        linked = f"#{self._anchors[topic.name]}" if topic.name in self._detailed else ""
        absent = (" ", Span(topic.absence, Role.MUTED, Tone.SUSPECT)) if topic.absence else ()
        return line(name(topic.name, linked), *absent)

    def _finding(self, finding: Finding, card: FindingCard | None = None, *, is_open: bool = True) -> FindingBlock:
        confirmation = self._background.confirmation(finding) if finding.verdict is not Verdict.PASS else ""
        evidence = tuple(
            line(muted(key), f" {display.evidence(key, value)}") for key, value in finding.evidence.items()
        )
        facts = [
            LabelledValues("because", tuple(map(prose, finding.because))),
            LabelledValues("evidence", evidence, joined=True),
            LabelledValues("confirm", (prose(confirmation),) if confirmation else ()),
            LabelledValues("remedy", (prose(finding.remedy),) if finding.remedy else ()),
            LabelledValues("declared", (line(code(str(finding.location))),) if finding.location else ()),
        ]
        age = age_of(finding, self._report)
        return FindingBlock(
            "note" if finding.verdict is Verdict.PASS else finding.verdict.value,
            _tone(finding.verdict),
            line(finding.check),
            finding.message or "no message",
            tuple(fact for fact in facts if fact.values),
            where=(display.ranges(finding.partitions), age),
            symbol=SYMBOLS[finding.verdict],
            open=card.open if card else is_open,
            anchor=f"finding-{card.number}" if card else "",
        )

    def _settled(self) -> Table:
        columns = (
            *map(Column, ("Previous", "Current")),
            Column("Topic", "name"),
            *map(Column, ("Partitions", "Check", "First seen")),
            Column("Reason", "name says"),
        )
        rows = (
            Row(
                (
                    line(each.was.value),
                    line(_badge(each.now)),
                    line(name(each.topic, f"#{self._anchors[each.topic]}" if each.topic in self._detailed else "")),
                    line(display.ranges(each.partitions) or "all"),
                    line(each.check),
                    line(display.timestamp(each.since)),
                    prose(each.why),
                )
            )
            for each in self._view.settled
        )
        caption = "Findings of the last audit with their current verdict"
        return Table(columns, tuple(rows), caption, noun="finding", most=_MOST_ENDED)

    def _overview(self) -> Iterator[Block]:
        yield self._trend()
        for title, groups in (("Domain", self._view.domains), ("Owner", self._view.owners)):
            if any(group.name for group in groups):
                yield _group_table(title, groups)

    def _trend(self) -> Plot:
        now = PastAudit(
            started=self._report.started,
            topics={
                verdict: sum(topic.verdict is verdict for topic in self._view.of_topics) for verdict in WORST_FIRST
            },
        )
        audits = [*self._report.trend[-_MOST_AUDITS + 1 :], now] if self._report.trend else []
        if not audits:
            caption = "There is no trend, because this audit has read no earlier audit of these topics."
            return Plot("trend", "Trend over audits", caption, whole=True)
        passed = [f"{each.topics.get(Verdict.PASS, 0):,} of {sum(each.topics.values()):,}" for each in audits[-2:]]
        caption = (
            f"At the audit of {display.timestamp(audits[-2].started)}, {passed[0]} topics passed; now {passed[1]} pass."
            " Each column is an audit, the latest one last; its height is the number of topics."
        )
        columns = (Column("Audit of", "name"), *(Column(word, "number") for word in _WORDS))
        rows = tuple(
            Row(
                (
                    line(display.timestamp(each.started)),
                    *(line(display.count(each.topics.get(verdict, 0))) for verdict in WORST_FIRST),
                )
            )
            for each in reversed(audits)
        )
        table = Table(columns, rows, "Topics by verdict, one row per audit")
        folded = Details(line("The trend as a table"), (table,))
        return Plot("trend", "Trend over audits", caption, whole=True, drawing=_trend(audits), blocks=(folded,))

    def _plots(self) -> Iterator[Plot]:
        for figure in figures(self._view):
            caption = figure.caption if figure.wide else figure.empty_caption
            if figure.wide and figure.drawn < figure.eligible:
                caption += (
                    f" The plot shows {figure.drawn} of {figure.eligible:,} topics, {_SHOWN[figure.id]};"
                    " the tables below contain all."
                )
            whole = figure.id == "age"
            yield Plot(figure.id, figure.title, caption, figure.wide or "", figure.narrow or "", whole=whole)

    def _topics(self) -> Table:
        columns = (
            Column("Verdict"),
            Column("Topic", "name"),
            *(Column(title, "number") for title in ("Partitions", "Records", "Payload", "On disk")),
            Column("Timestamps"),
            Column("Skew", "number"),
        )
        rows = (
            Row(
                (
                    line(_badge(topic.verdict)),
                    self._name(topic),
                    *_cells(
                        display.count(len(facts.partitions)),
                        display.count(facts.records),
                        display.size(facts.payload_bytes),
                        display.size(facts.log_bytes),
                        display.span(*time_span(facts)),
                        display.multiple(facts.skew),
                    ),
                ),
                TopicRef(self._anchors[topic.name], _search_text(topic), topic.verdict.value),
            )
            for topic, facts in self._with_facts
        )
        return Table(columns, tuple(rows), "All topics, worst first", noun="topic")

    def _details(self) -> Block:
        if not self._with_facts:
            return Paragraph(line(muted("No topics were audited.")))
        timelines = _timelines(self._detailed)
        topics = tuple(
            self._topic(topic, facts, timelines.get(topic.name)) for topic, facts in self._with_facts[:MAX_DETAILED]
        )
        rest = len(self._with_facts) - len(topics)
        # The others are only counted, because their tables would take seconds.
        placeholders = (Paragraph(()),) * rest
        return Many((*topics, *placeholders), "topic", MAX_DETAILED, "the details of ", style="topic-list")

    def _topic(self, topic: TopicDigest, facts: TopicFacts, timelines: list[Timeline] | None) -> Details:
        counts = f"{counted_noun(len(facts.partitions), 'partition')}, {counted_noun(facts.records or 0, 'record')}"
        summary = line(_badge(topic.verdict), " ", strong(topic.name), " ", muted(topic.absence or counts))
        blocks: list[Block] = [FactList(tuple(LabelledValues(*each) for each in _traits(facts)))]
        found = self._cards.by_name.get(topic.name, [])
        lines = [
            line(
                _badge(card.finding.verdict),
                " ",
                name(card.finding.check, f"#finding-{card.number}"),
                " ",
                *prose(card.finding.message),
            )
            for card in found
        ]
        if more := len(topic.findings) - len(found):
            lines.append(line(muted(omitted(more, "finding", _COMPLETE))))
        if lines:
            blocks.append(Many(tuple(map(Paragraph, lines)), "finding", style="found"))
        if topic.passed:
            blocks.append(Paragraph(line(muted("Passed"), f" {', '.join(topic.passed)}")))
        if facts.partitions and timelines is None:
            blocks.append(Paragraph(line(muted(omitted(len(facts.partitions), "partition", _COMPLETE)))))
        elif facts.partitions:
            if timelines:
                blocks.append(Plot("", "Logs, from the first to the last offset", "", drawing=_logs(timelines)))
            partitions = sorted(facts.partitions, key=lambda each: each.partition)
            blocks.append(_partition_table("Records read, by partition", partitions, _RECORDS, topic))
            blocks.append(_partition_table("Replicas and offsets", partitions, _OFFSETS, topic))
        if facts.ages:
            bands = tuple(Column(display.age(band.from_ms, band.to_ms), "number") for band in facts.ages)
            row = Row(tuple(line(display.count(band.records)) for band in facts.ages))
            blocks.append(Table(bands, (row,), "Records by age", titled=True, style="ages"))
        return Details(summary, tuple(blocks), TopicRef(self._anchors[topic.name]))


def _tone(verdict: Verdict) -> Tone:
    return Tone(verdict.value)


def _badge(verdict: Verdict) -> Span:
    return badge(f"{SYMBOLS[verdict]} {verdict.value}", _tone(verdict))


def _cells(*texts: str) -> tuple[Line, ...]:
    return tuple(map(line, texts))


def _group_table(title: str, groups: Sequence[FindingGroup]) -> Table:
    order = (Verdict.PASS, *WORST_FIRST[:3])
    columns = (
        Column(title, "name"),
        Column("Topics", "number"),
        *(Column(verdict.value.capitalize(), "number") for verdict in order),
    )
    rows = (
        Row(
            (
                line(
                    name(group.name, "#topics", group.name) if group.name else muted("(none)"),
                    Span(_bar(group), Role.DRAWING),
                ),
                *_cells(display.count(group.topics), *(display.count(group.verdicts[each]) for each in order)),
            )
        )
        for group in groups
    )
    rest = sum(group.topics for group in groups[_MOST_GROUPS:])
    caption = f"Topics by {title.lower()}, the most failures first"
    with_topics = f", with {counted_noun(rest, 'topic')}"
    return Table(columns, tuple(rows), caption, titled=True, noun=title.lower(), most=_MOST_GROUPS, rest=with_topics)


def _bar(group: FindingGroup) -> str:
    parts = (
        tag("i", class_=verdict.value, style=f"width:{100 * group.verdicts[verdict] / group.topics:.2f}%")
        for verdict in reversed(WORST_FIRST)
        if group.verdicts[verdict]
    )
    return tag("span", *parts, class_="bar", aria_hidden="true")


def _trend(audits: Sequence[PastAudit]) -> str:
    most = max(sum(each.topics.values()) for each in audits) or 1
    columns = (
        tag(
            "span",
            *(
                tag("i", class_=verdict.value, style=f"height:{100 * audit.topics[verdict] / most:.2f}%")
                for verdict in WORST_FIRST
                if audit.topics.get(verdict)
            ),
        )
        for audit in audits
    )
    label = "Topics by verdict, one column per audit; the same numbers are in the table below"
    ends = (tag("span", display.timestamp(each.started)) for each in (audits[0], audits[-1]))
    drawn = tag("div", *columns, class_="trend", role="img", aria_label=label)
    width = f"max-width:max(20rem, {len(audits) * 4.5}rem)"
    return tag("div", drawn, tag("p", *ends, class_="ends"), class_="history", style=width)


def _traits(facts: TopicFacts) -> Iterator[tuple[str, tuple[Line, ...]]]:
    policy = facts.cleanup_policy
    for label, text in (
        ("domain", facts.domain or display.NOTHING),
        ("owner", facts.owner),
        ("declared", "yes" if facts.declared else "no"),
        ("topic id", facts.topic_id),
        ("cleanup.policy", None if policy is None else policy or "(empty)"),
        ("partitioner", _partitioner(facts.partitioner) if facts.partitioner else ""),
        ("hottest key", _hottest(facts)),
    ):
        if text:
            yield label, (line(text),)


def _logs(timelines: Sequence[Timeline]) -> str:
    used = {each.kind for timeline_ in timelines for each in timeline_.ranges}
    legend = [
        tag("li", tag("i", class_=kind, aria_hidden="true"), f" {meaning}")
        for kind, meaning in LEGEND.items()
        if kind in used
    ]
    shown = tag("ul", *legend, class_="legend") if legend else ""
    return tag("div", shown, tag("ul", *map(_log, timelines)), class_="logs")


def _log(shown: Timeline) -> Markup:
    facts = shown.facts
    parts = [f"{shown.end - shown.start:,} offsets"]
    parts += [f"{facts.records:,} records read"] if facts.records else []
    parts += [f"{facts.tombstones:,} tombstones"] if facts.tombstones else []
    parts += [f"{facts.superseded:,} superseded"] if facts.superseded else []
    kept = f"; not cleaned: {facts.held_by}" if facts.held_by else ""
    ranges = (tag("i", class_=each.kind, style=f"left:{each.left}%;width:{each.width}%") for each in shown.ranges)
    marks = (tag("b", style=f"left:{mark.left}%") for mark in shown.marks)
    ends = []
    for offset, word, time in (
        (shown.start, "oldest", facts.first_timestamp),
        (shown.end, "newest", facts.last_timestamp),
    ):
        dated = tag("small", f"{word} {display.timestamp(time)}") if time is not None else ""
        ends.append(tag("span", f"{offset:,}", dated))
    named = [tag("li", tag("b", f"{mark.offset:,}"), f" {mark.names}") for mark in shown.marks]
    return tag(
        "li",
        tag("p", tag("b", f"Partition {facts.partition}"), " ", tag("span", f"{', '.join(parts)}{kept}")),
        tag("div", *ranges, *marks, class_="track", role="img", aria_label=shown.text),
        tag("p", *ends, class_="ends"),
        tag("ul", *named, class_="marks", aria_label="Offsets in findings") if named else "",
        class_="log",
    )


_RECORDS: Final[Mapping[str, Any]] = {
    "#": lambda p, _: str(p.partition),
    "Records": lambda p, _: display.count(p.records),
    "Multiple of mean": lambda p, topic: _share(p.records, topic),
    "Null keys": lambda p, _: display.count(p.null_keys),
    "Tombstones": lambda p, _: display.count(p.tombstones),
    "Empty values": lambda p, _: display.count(p.empty_values),
    "Keys": lambda p, _: display.count(p.keys),
    "Superseded": lambda p, _: display.count(p.superseded),
    "Hottest key": lambda p, _: display.count(p.hottest),
    "Payload": lambda p, _: display.size(p.payload_bytes),
    "Mean record": lambda p, _: display.size(p.payload_bytes / p.records if p.records else None),
    "Largest record": lambda p, _: display.size(p.largest_record),
    "Oldest": lambda p, _: display.timestamp(p.first_timestamp),
    "Newest": lambda p, _: display.timestamp(p.last_timestamp),
}
_OFFSETS: Final[Mapping[str, Any]] = {
    "#": lambda p, _: str(p.partition),
    "Leader": lambda p, _: "none" if p.leader is None else str(p.leader),
    "Replicas": lambda p, _: ", ".join(map(str, p.replicas)),
    "In sync": lambda p, _: ", ".join(map(str, p.in_sync)),
    "Log start": lambda p, _: display.count(p.log_start),
    "Read from": lambda p, _: display.count(p.read_from),
    "Last stable": lambda p, _: display.count(p.last_stable),
    "Log end": lambda p, _: display.count(p.log_end),
    "Lost to retention": lambda p, _: display.count(p.lost_to_retention),
    "Other gaps": lambda p, _: display.count(p.gaps),
    "On disk": lambda p, _: display.size(p.log_bytes),
}
_PARTITION_WORDS: Final = {"Oldest", "Newest", "Replicas", "In sync"}


def _partition_table(
    caption: str, partitions: Sequence[PartitionFacts], cells: Mapping[str, Any], topic: TopicDigest
) -> Table:
    columns = tuple(Column(title, "word" if title in _PARTITION_WORDS else "number") for title in cells)
    rows = tuple(Row(_cells(*(cell(each, topic) for cell in cells.values()))) for each in partitions)
    return Table(columns, rows, caption, titled=True, noun="partition", style="parts")


def _timelines(topics: Mapping[str, TopicDigest]) -> dict[str, list[Timeline]]:
    """Return the timelines of the partitions by topic name, for the first topics up to ``MAX_PARTITIONS``."""
    remaining, selected = MAX_PARTITIONS, {}
    for topic in topics.values():
        partitions = sorted(topic.facts.partitions, key=lambda each: each.partition) if topic.facts else []
        if len(partitions) <= remaining:
            timelines = (timeline(each, topic.findings) for each in partitions)
            selected[topic.name] = [each for each in timelines if each is not None]
            remaining -= len(partitions)
    return selected


def _share(records: int | None, topic: TopicDigest) -> str:
    """Return a partition's ``records`` as a multiple of the topic's mean."""
    facts = topic.facts
    if facts is None or not facts.records or records is None:
        return display.NOTHING
    return display.multiple(records * len(facts.partitions) / facts.records)


def _hottest(facts: TopicFacts) -> str:
    """Return the share, the partition and the offset of the most frequent key; empty if keys were not counted."""
    counted = [partition for partition in facts.partitions if partition.hottest]
    if not counted or not facts.records:
        return ""
    hottest = max(counted, key=lambda partition: partition.hottest or 0)
    first = "" if hottest.hottest_offset is None else f", first at offset {hottest.hottest_offset:,}"
    return f"{(hottest.hottest or 0) / facts.records:.1%} of the records, in partition {hottest.partition}{first}"


def _partitioner(facts: PartitionerFacts) -> str:
    """Return the conclusion on the producers' partitioner, and the share of keys that each candidate explains."""
    names = f": {' and '.join(facts.algorithms)}" if facts.algorithms else ""
    scores = sorted(facts.scores.items(), key=lambda score: (-score[1], score[0]))
    explained = ", ".join(f"{name} {share:.1%}" for name, share in scores)
    return f"{facts.conclusion}{names}; keys explained (of {facts.keys:,}): {explained}"


def _search_text(topic: TopicDigest) -> str:
    """Return the text in which the page's filter searches. Bars separate the names, for searches of a whole name."""
    checks = sorted({finding.check for finding in topic.findings})
    return display.one_line(f"|{'|'.join([topic.name, topic.domain, topic.owner, *checks])}|").lower()
