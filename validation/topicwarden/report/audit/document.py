"""Make the document of an audit report for a terminal and for Markdown: topics, findings, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from topicwarden.model.finding import AuditReport, Finding, SettledFinding, TopicFacts
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.audit.digest import (
    NEXT_STEP,
    SYMBOLS,
    AuditDigest,
    FindingGroup,
    TopicDigest,
    age_of,
    digest,
    time_span,
    urgency,
)
from topicwarden.report.document import (
    Block,
    Column,
    Document,
    DocumentSection,
    FindingBlock,
    LabelledValues,
    Line,
    Many,
    Medium,
    Note,
    Paragraph,
    Row,
    Span,
    Table,
    Tone,
    code,
    line,
    muted,
    name,
    prose,
    strong,
)

_TONES: Final = {verdict: Tone(verdict.value) for verdict in WORST_FIRST}
_MOST_ROWS: Final = 10
"""Number of passing topics, and of undeclared topics, that get a row each; more of them share one row."""
_MOST_PER_CHECK: Final = 10
"""Number of findings, or of notes, that a terminal shows for each check."""
_COMPLETE: Final = "--format json and the files of --out have all"


def document(report: AuditReport, medium: Medium) -> Document:
    """Return the document of ``report`` for a terminal or for Markdown."""
    view = digest(report)
    terminal = medium is Medium.TERMINAL
    cluster = line(f", cluster {report.cluster_id or 'unknown'}, topicwarden {report.topicwarden}.")
    return Document(
        *view.title,
        view.headline,
        view.summary,
        tuple(_terminal_blocks(view) if terminal else _markdown_blocks(view)),
        _COMPLETE if terminal else "report.json has all",
        notes=tuple(Note("limit" if terminal else "", prose(limit)) for limit in view.limits),
        source=line("Started ", code(display.timestamp(report.started)), *cluster),
        next_step=NEXT_STEP,
        next_command=view.next_step,
    )


def _terminal_blocks(view: AuditDigest) -> Iterator[Block]:
    if any(topic.facts for topic in view.topics):
        yield _topics(list(_folded_rows([topic for topic in view.topics if topic.facts])), "Size")
    yield from _findings(view)
    if view.settled:
        yield DocumentSection("", tuple(map(_settled, view.settled)))
    ended = [
        *((strong("resolved", Tone.PASS), each) for each in view.report.resolved),
        *((strong("withdrawn", Tone.UNDECIDABLE), each) for each in view.report.withdrawn),
    ]
    if ended:
        lines = (
            line(
                label,
                " ",
                strong(f"{each.check} {each.topic}:"),
                f" was {each.verdict.value} since {display.timestamp(each.since)}",
            )
            for label, each in ended
        )
        yield DocumentSection("", tuple(map(Paragraph, lines)))


def _markdown_blocks(view: AuditDigest) -> Iterator[Block]:
    if view.report.trend:
        last = view.report.trend[-1]
        passed, topics = last.topics.get(Verdict.PASS, 0), sum(last.topics.values())
        when = code(display.timestamp(last.started))
        yield Paragraph(line("At the audit of ", when, f", {passed:,} of {topics:,} topics passed."))
    if rows := [_row(topic, topic.facts, topic.facts.log_bytes) for topic in view.topics if topic.facts]:
        yield _topics(rows, "On disk")
    for title, groups in (("Domain", view.domains), ("Owner", view.owners)):
        if any(group.name for group in groups):
            yield _groups(title, groups)
    if view.settled:
        yield DocumentSection("Since the last audit", tuple(map(_settled, view.settled)))
    for heading, found in (
        ("Needs attention", [(topic.name, topic.findings) for topic in view.attention]),
        ("Notes", [(topic.name, topic.notes) for topic in view.noted]),
    ):
        sections = [
            DocumentSection(named, tuple(_finding(each, view.report, "") for each in findings), plain=True)
            for named, findings in found
        ]
        if sections:
            yield DocumentSection(heading, (Many(tuple(sections), "topic"),))


def _topics(rows: Sequence[Row], size: str) -> Table:
    columns = (
        Column("Verdict"),
        Column("Topic", "name"),
        Column("Partitions" if size == "On disk" else "Parts", "number"),
        Column("Records", "number"),
        Column("Payload", "number", wide=True),
        Column(size, "number"),
        Column("Timestamps (UTC)", wide=True, below=True),
        Column("Skew", "number"),
    )
    return Table(columns, tuple(rows), "All topics", noun="topic")


def _row(topic: TopicDigest, facts: TopicFacts, size: int | None) -> Row:
    absent = (Span(f" ({topic.absence})", tone=Tone.SUSPECT),) if topic.absence else ()
    known = bool(facts.partitions)
    sizes = (display.size(facts.payload_bytes) if known else display.NOTHING, display.size(size))
    return Row(
        (
            _verdict(topic.verdict),
            line(name(topic.name), *absent),
            line(display.count(len(facts.partitions) or None)),
            line(display.count(facts.records) if known else display.NOTHING),
            *map(line, sizes),
            line(display.span(*time_span(facts))),
            line(display.multiple(facts.skew)),
        )
    )


def _folded_rows(topics: Sequence[TopicDigest]) -> Iterator[Row]:
    for folded, group in groupby(topics, _folded):
        rows = [(topic, topic.facts) for topic in group if topic.facts]
        if not folded or len(rows) <= _MOST_ROWS:
            for topic, of_topic in rows:
                payload = of_topic.payload_bytes if of_topic.partitions else None
                yield _row(topic, of_topic, payload if of_topic.log_bytes is None else of_topic.log_bytes)
            continue
        facts = [each for _, each in rows]
        sums = (
            display.count(sum(len(topic.partitions) for topic in facts)),
            display.count(sum(topic.records or 0 for topic in facts)),
            display.size(sum(topic.payload_bytes or 0 for topic in facts)),
            display.size(sum(topic.log_bytes or 0 for topic in facts)),
        )
        what = line(muted(f"{counted(len(rows), 'topic')} that {folded}"))
        yield Row((_verdict(rows[0][0].verdict), what, *map(line, sums), (), ()))


def _folded(topic: TopicDigest) -> str:
    """Return what the row of many topics such as this one says; empty if each of them needs a row of its own."""
    if topic.only_undeclared:
        return "are on the cluster, but not declared"
    return "" if topic.findings else "passed all checks"


def _verdict(verdict: Verdict) -> Line:
    return line(Span(f"{SYMBOLS[verdict]} {verdict.value}", tone=_TONES[verdict]))


def _groups(title: str, groups: Sequence[FindingGroup]) -> Table:
    verdicts = (Column(verdict.value, "number") for verdict in WORST_FIRST)
    columns = (Column(title, "name"), Column("Topics", "number"), *verdicts)
    rows = tuple(
        Row(
            (
                line(name(group.name) if group.name else muted("(none)")),
                line(display.count(group.topics)),
                *(line(display.count(group.verdicts[verdict])) for verdict in WORST_FIRST),
            )
        )
        for group in groups
    )
    return Table(columns, rows, f"Topics by {title.lower()}", noun=title.lower())


def _findings(view: AuditDigest) -> Iterator[Block]:
    """Yield the findings in reading order, at most some of each check, and then how many others each check has."""
    kept: Counter[tuple[Verdict, str]] = Counter()
    for finding in (finding for topic in view.topics for finding in (*topic.findings, *topic.notes)):
        kept[finding.verdict, finding.check] += 1
        if kept[finding.verdict, finding.check] <= _MOST_PER_CHECK:
            yield _finding(finding, view.report, finding.topic)
    for verdict, check in sorted(kept, key=lambda kind: (WORST_FIRST.index(kind[0]), urgency(kind[1]), kind[1])):
        if (more := kept[verdict, check] - _MOST_PER_CHECK) > 0:
            text = strong(f"{check}: {counted(more, 'more finding')}; {_COMPLETE}")
            yield DocumentSection("", (Paragraph(line(strong(_word(verdict), _TONES[verdict]), " ", text)),))


def _word(verdict: Verdict) -> str:
    return "note" if verdict is Verdict.PASS else verdict.value


def _finding(finding: Finding, report: AuditReport, topic: str) -> FindingBlock:
    evidence = tuple(line(f"{key} = {display.evidence(key, value)}") for key, value in finding.evidence.items())
    age = age_of(finding, report)
    facts = (
        LabelledValues("seen", (line(age),) if age else ()),
        LabelledValues("because", tuple(map(prose, finding.because))),
        LabelledValues("evidence", evidence, joined=True),
        LabelledValues("remedy", (prose(finding.remedy),) if finding.remedy else ()),
        LabelledValues("declared", (line(code(str(finding.location))),) if finding.location else ()),
    )
    return FindingBlock(
        _word(finding.verdict),
        _TONES[finding.verdict],
        line(name(f"{finding.check} {topic}".rstrip())),
        finding.message or "no message",
        facts,
        where=(display.ranges(finding.partitions),) if finding.partitions else (),
        symbol=SYMBOLS[finding.verdict],
        folded=True,
    )


def _settled(settled: SettledFinding) -> Paragraph:
    partitions = f" [{display.ranges(settled.partitions)}]" if settled.partitions else ""
    label = strong(f"now {settled.now.value}", _TONES[settled.now])
    subject = strong(f"{settled.check} {settled.topic}{partitions}:")
    since = code(display.timestamp(settled.since))
    return Paragraph(line(label, " ", subject, f" was {settled.was.value} at ", since, f": {settled.why}"))
