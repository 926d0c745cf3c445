"""Make the document of an audit: topics, findings, what changed, and on a page the trend, plots and partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, TypeVar

from topicwarden.model.finding import AuditReport, Finding, PastAudit, PastFinding, SettledFinding, TopicFacts
from topicwarden.model.message_text import counted, counted_more, first_of
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import (
    NEXT_STEP,
    SYMBOLS,
    AuditDigest,
    FindingGroup,
    TopicDigest,
    age_of,
    digest,
    redrive_command,
    time_span,
    urgency,
)
from topicwarden.report.audit.plots import bar, topic_plots, trend
from topicwarden.report.audit.topic_details import MAX_DETAILED, TopicDetails
from topicwarden.report.document import Document, Line, Medium, Role, Span, Tone, code, line, muted, name, prose, strong

_Item = TypeVar("_Item")

MAX_OPEN: Final = 20
"""Number of findings of a page that are expanded at first; the others are collapsed to one line."""
MAX_CARDS: Final = 1_000
"""Number of findings on a page, so that it opens quickly."""
_TONES: Final = {verdict: Tone(verdict.value) for verdict in WORST_FIRST}
_MOST_ROWS: Final = 10
"""Number of passing topics, and of undeclared topics, that get a row each; more of them share one row."""
_MOST_PER_CHECK: Final = 10
"""Number of findings, or of notes, that a terminal shows for each check."""
_MOST_GROUPS: Final = 12
_MOST_AUDITS: Final = 30
_MOST_ENDED: Final = 500
_MOST_NOTED: Final = 200
_COMPLETE: Final = {
    Medium.TERMINAL: "--format json and the files of --out have all",
    Medium.MARKDOWN: "report.json has all",
    Medium.PAGE: "report.json has all",
}
_SECTIONS: Final = {
    "attention": (
        "Needs attention",
        "The worst come first. A fail is proven. A suspect becomes a fail if the next audit still finds it. An"
        " undecidable finding names the missing information.",
    ),
    "resolved": ("Resolved since the last audit", "What the last audit found, and this one no longer finds."),
    "withdrawn": ("Withdrawn since the last audit", "What the last audit found by a rule that is no more."),
    "settled": (
        "Since the last audit",
        "Findings of the last audit that this audit checked again, with the previous and the current verdict.",
    ),
    "overview": ("Overview", ""),
    "plots": ("Age, size and skew", ""),
    "notes": ("Notes", "Observations that can look like faults, but are expected."),
    "topics": (
        "All topics",
        "The worst come first, then by name. Times are in UTC. Skew is the number of records in the largest partition"
        " divided by the mean.",
    ),
    "details": (
        "Partitions and checks",
        "For engineers: the metadata and the records of each topic. The counts are numbers of records that were read.",
    ),
}
"""The titles of the sections of a page, in their order, and the sentences below them."""


def document(report: AuditReport, medium: Medium, background: ReportBackground | None = None) -> Document:
    """Return the document of ``report``. A page shows what ``background`` knows of the checks."""
    return _AuditDocument(digest(report), medium, background or ReportBackground()).document()


class _AuditDocument:
    def __init__(self, view: AuditDigest, medium: Medium, background: ReportBackground) -> None:
        self._view, self._report, self._medium, self._background = view, view.report, medium, background
        self._page = medium is Medium.PAGE
        found = [finding for topic in view.attention for finding in topic.findings]
        self._numbers = {id(finding): number for number, finding in enumerate(found[:MAX_CARDS], start=1)}
        self._omitted = len(found) - len(self._numbers)
        with_facts = [topic for topic in view.topics if topic.facts]
        self._detailed = {topic.name for topic in with_facts[:MAX_DETAILED]} if self._page else set()
        self._refs = {
            topic.name: doc.TopicRef(f"topic-{number}", doc.search_text(_searched(topic)), topic.verdict.value)
            for number, topic in enumerate(view.topics, start=1)
        }

    def document(self) -> Document:
        view, report = self._view, self._report
        started = display.timestamp(report.started)
        blocks = {
            Medium.TERMINAL: self._terminal_blocks,
            Medium.MARKDOWN: self._markdown_blocks,
            Medium.PAGE: self._sections,
        }[self._medium]
        document = Document(
            *view.title,
            view.headline,
            view.summary,
            tuple(blocks()),
            _COMPLETE[self._medium],
            notes=tuple(doc.Note("limit" * (self._medium is Medium.TERMINAL), prose(each)) for each in view.limits),
            source=line(
                "Started ",
                code(started),
                f", cluster {report.cluster_id or 'unknown'}, topicwarden {report.topicwarden}.",
            ),
            next_step=NEXT_STEP,
            next_command=view.next_step,
        )
        if not self._page:
            return document
        made = f"Made by topicwarden {report.topicwarden} from {counted(report.scanned_records, 'record')}."
        took, words = display.duration(report.finished - report.started), tuple(each.value for each in WORST_FIRST)
        return replace(
            document,
            notes_title="Limits of this audit",
            facts=(("started", started), ("took", took), ("cluster", report.cluster_id or "unknown")),
            cards=tuple(map(self._card, WORST_FIRST)),
            links=(("Use and cost of topics", "usage.html"),) if report.usage else (),
            filter=doc.Filter("name, domain, owner or check", "Verdict", words) if view.topics else None,
            page_title=f"{report.stack}: audit of {started}",
            source=line(f"{made} report.json contains the same data for programs. {doc.OFFLINE}"),
        )

    def _card(self, verdict: Verdict) -> doc.Card:
        number = self._view.counts[verdict]
        return doc.Card(verdict.value, display.count(number), _TONES[verdict], SYMBOLS[verdict], quiet=not number)

    def _terminal_blocks(self) -> Iterator[doc.Block]:
        if any(topic.facts for topic in self._view.topics):
            yield self._topics()
        yield from self._findings()
        ended = [
            (self._report.resolved, "resolved", Tone.PASS),
            (self._report.withdrawn, "withdrawn", Tone.UNDECIDABLE),
        ]
        lines = [doc.Paragraph(_ended(each, strong(word, tone))) for found, word, tone in ended for each in found]
        for blocks in (tuple(map(_settled, self._view.settled)), tuple(lines)):
            if blocks:
                yield doc.DocumentSection("", blocks)

    def _markdown_blocks(self) -> Iterator[doc.Block]:
        view = self._view
        if view.report.trend:
            last = view.report.trend[-1]
            passed, topics = last.topics.get(Verdict.PASS, 0), sum(last.topics.values())
            when = code(display.timestamp(last.started))
            yield doc.Paragraph(line("At the audit of ", when, f", {passed:,} of {topics:,} topics passed."))
        if any(topic.facts for topic in view.topics):
            yield self._topics()
        yield from self._groups()
        for heading, blocks in (
            ("resolved", _many_ended(view.report.resolved, _RESOLVED)),
            ("withdrawn", _many_ended(view.report.withdrawn, _WITHDRAWN)),
            ("settled", tuple(map(_settled, view.settled))),
        ):
            if blocks:
                yield doc.DocumentSection(_SECTIONS[heading][0], blocks)
        for heading, topics_with in (
            ("attention", [(topic.name, topic.findings) for topic in view.attention]),
            ("notes", [(topic.name, topic.notes) for topic in view.noted]),
        ):
            sections = [
                doc.DocumentSection(topic, tuple(self._finding(each) for each in found), plain=True)
                for topic, found in topics_with
            ]
            if sections:
                yield doc.DocumentSection(_SECTIONS[heading][0], (doc.Many(tuple(sections), "topic"),))

    def _sections(self) -> Iterator[doc.DocumentSection]:
        view, report = self._view, self._report
        noted = tuple(self._group(topic, tuple(map(self._finding, topic.notes))) for topic in view.noted)
        with_facts = [topic.facts for topic in sorted(view.topics, key=_importance) if topic.facts]
        plots = topic_plots(with_facts)
        details = TopicDetails(self._view, self._refs, self._found)
        sections: dict[str, Sequence[doc.Block]] = {
            "attention": tuple(self._attention()),
            "resolved": _many_ended(report.resolved, _RESOLVED),
            "withdrawn": _many_ended(report.withdrawn, _WITHDRAWN),
            "settled": (self._settled_table(),) if view.settled else (),
            "overview": (doc.Many((self._trend(), *self._groups()), "table", style="figures"),) if view.topics else (),
            "plots": (doc.Many(tuple(plots), "plot", style="figures"),) if with_facts else (),
            "notes": (doc.Many(noted, "topic", _MOST_NOTED, "the notes of "),) if noted else (),
            "topics": (self._topics(),) if with_facts else (),
            "details": (details.block(),) if with_facts else (),
        }
        for id_, (title, lead) in _SECTIONS.items():
            if sections[id_]:
                yield doc.DocumentSection(title, tuple(sections[id_]), lead, id_)

    def _attention(self) -> Iterator[doc.Block]:
        if not self._view.attention:
            return
        yield self._checks()
        for topic in self._view.attention:
            found = [each for each in topic.findings if id(each) in self._numbers]
            if found:
                yield self._group(topic, tuple(map(self._finding, found)))
        if self._omitted:
            yield doc.Paragraph(line(muted(doc.omitted(self._omitted, "finding", _COMPLETE[self._medium]))))

    def _checks(self) -> doc.Table:
        """Return the number of findings of each check by verdict, with a link to its worst finding on the page."""
        counts: dict[str, Counter[Verdict]] = {}
        first: dict[str, str] = {}
        for topic in self._view.attention:
            for finding in topic.findings:
                counts.setdefault(finding.check, Counter())[finding.verdict] += 1
                first.setdefault(finding.check, self._anchor(finding))

        def order(check: str) -> tuple[object, ...]:
            worst = min(map(WORST_FIRST.index, counts[check]))
            return worst, urgency(check), *(-counts[check][verdict] for verdict in WORST_FIRST), check

        cells = doc.grid(
            sorted(counts, key=order),
            {
                doc.named("Check"): lambda check: name(check, f"#{first[check]}" if first[check] else ""),
                **_verdict_columns(WORST_FIRST[:3], lambda check: counts[check]),
                doc.Column("Requirement", "name says"): lambda check: (
                    self._background.summary(check) or display.NOTHING
                ),
            },
        )
        return doc.Table(*cells, "By check", titled=True, style="checks stacked")

    def _anchor(self, finding: Finding) -> str:
        number = self._numbers.get(id(finding))
        return f"finding-{number}" if number else ""

    def _found(self, topic: TopicDigest) -> Iterator[doc.Paragraph]:
        """Yield a line for each finding of a topic, which leads to the finding."""
        shown = [each for each in topic.findings if id(each) in self._numbers]
        for each in shown:
            link = name(each.check, f"#{self._anchor(each)}")
            yield doc.Paragraph(line(_badge(each.verdict), " ", link, " ", prose(each.message)))
        if more := len(topic.findings) - len(shown):
            yield doc.Paragraph(line(muted(doc.omitted(more, "finding", _COMPLETE[self._medium]))))

    def _group(self, topic: TopicDigest, blocks: tuple[doc.Block, ...]) -> doc.DocumentSection:
        ref = self._refs[topic.name]
        owner = (" ", muted(topic.owner)) if topic.owner else ()
        # The filter searches the row of the topic in the table of all topics, if there is one.
        ref = doc.TopicRef(ref.anchor) if topic.facts else ref
        return doc.DocumentSection(topic.name, blocks, heading=line(self._name(topic), *owner), topic=ref)

    def _name(self, topic: TopicDigest) -> Line:
        absent = (" ", Span(f"({topic.absence})", Role.MUTED, Tone.SUSPECT)) if topic.absence else ()
        return line(self._linked(topic.name), *absent)

    def _linked(self, topic: str) -> Span:
        return name(topic, f"#{self._refs[topic].anchor}" if topic in self._detailed else "")

    def _finding(self, finding: Finding, topic: str = "") -> doc.FindingBlock:
        page, age = self._page, age_of(finding, self._report)
        passed, number = finding.verdict is Verdict.PASS, self._numbers.get(id(finding))
        evidence = (
            line(muted(key) if page else f"{key} =", f" {display.evidence(key, value)}")
            for key, value in finding.evidence.items()
        )
        values: dict[str, Iterable[doc.Words]] = {
            "seen": [] if page else [age],
            "because": map(prose, finding.because),
            "evidence": evidence,
            "confirm": [prose(self._background.confirmation(finding))] if page and not passed else [],
            "remedy": [prose(finding.remedy or "")],
            "copy": [code(command)] if (command := redrive_command(finding, self._report)) else [],
            "declared": [code(str(finding.location))] if finding.location else [],
        }
        return doc.FindingBlock(
            _word(finding.verdict),
            _TONES[finding.verdict],
            line(finding.check) if page else line(name(f"{finding.check} {topic}".rstrip())),
            finding.message or "no message",
            doc.facts(values, joined="evidence"),
            where=(display.ranges(finding.partitions), age if page else ""),
            symbol=SYMBOLS[finding.verdict],
            folded=True,
            open=number is not None and number <= MAX_OPEN,
            anchor=self._anchor(finding),
        )

    def _findings(self) -> Iterator[doc.Block]:
        """Yield the findings in reading order, at most some of each check, and how many others each check has.

        Findings that are undecidable for the same reason are one entry.
        """
        shown: Counter[tuple[Verdict, str]] = Counter()
        left: Counter[tuple[Verdict, str]] = Counter()
        for found in _by_cause(finding for topic in self._view.topics for finding in (*topic.findings, *topic.notes)):
            kind = found[0].verdict, found[0].check
            if shown[kind] < _MOST_PER_CHECK:
                shown[kind] += 1
                yield self._finding(found[0], found[0].topic) if len(found) == 1 else self._cause(found)
            else:
                left.update((each.verdict, each.check) for each in found)
        for verdict, check in sorted(left, key=lambda kind: (WORST_FIRST.index(kind[0]), urgency(kind[1]), kind[1])):
            text = strong(f"{check}: {counted_more(left[verdict, check], 'finding')}; {_COMPLETE[self._medium]}")
            entry = line(strong(_word(verdict), _TONES[verdict]), " ", text)
            yield doc.DocumentSection("", (doc.Paragraph(entry),))

    def _cause(self, found: Sequence[Finding]) -> doc.FindingBlock:
        """Return one entry for findings that have the same cause, with the names of their checks and topics."""
        checks, topics = (
            list(dict.fromkeys(names)) for names in zip(*((f.check, f.topic) for f in found), strict=True)
        )
        of_checks = checks[0] if len(checks) == 1 else counted(len(checks), "check")
        of_topics = topics[0] if len(topics) == 1 else counted(len(topics), "topic")
        names: dict[str, Iterable[doc.Words]] = {
            "checks": [", ".join(checks)] if len(checks) > 1 else [],
            "topics": [first_of(topics, _MOST_PER_CHECK, "topic")] if len(topics) > 1 else [],
        }
        entry = self._finding(found[0])
        return replace(
            entry, subject=line(name(f"{of_checks} of {of_topics}")), facts=(*doc.facts(names), *entry.facts)
        )

    def _settled_table(self) -> doc.Table:
        cells = doc.grid(
            self._view.settled,
            {
                "Previous": lambda each: each.was.value,
                "Current": lambda each: _badge(each.now),
                doc.named("Topic"): lambda each: self._linked(each.topic),
                "Partitions": lambda each: display.ranges(each.partitions) or "all",
                "Check": lambda each: each.check,
                "First seen": lambda each: display.timestamp(each.since),
                doc.Column("Reason", "name says"): lambda each: prose(each.why),
            },
        )
        caption = "Findings of the last audit with their current verdict"
        return doc.Table(*cells, caption, noun="finding", most=_MOST_ENDED)

    def _groups(self) -> Iterator[doc.Table]:
        """Yield the topics by domain and by owner, unless no topic has one."""
        for title, groups in (("Domain", self._view.domains), ("Owner", self._view.owners)):
            if any(group.name for group in groups):
                cells = doc.grid(
                    groups,
                    {
                        doc.named(title): self._group_name,
                        doc.number("Topics"): lambda group: display.count(group.topics),
                        **_verdict_columns(WORST_FIRST, lambda group: group.verdicts),
                    },
                )
                caption, rest = (
                    f"Topics by {title.lower()}, the most failures first",
                    sum(group.topics for group in groups[_MOST_GROUPS:]),
                )
                table = doc.Table(*cells, caption, noun=title.lower(), most=_MOST_GROUPS if self._page else 1_000_000)
                yield replace(table, titled=self._page, rest=f", with {counted(rest, 'topic')}" if self._page else "")

    def _group_name(self, group: FindingGroup) -> Line:
        shown = name(group.name, "#topics" * self._page, group.name) if group.name else muted("(none)")
        return line(shown, Span(bar(group.verdicts), Role.DRAWING)) if self._page else line(shown)

    def _trend(self) -> doc.Plot:
        counts = Counter(topic.verdict for topic in self._view.of_topics)
        audits = [*self._report.trend[-_MOST_AUDITS + 1 :], PastAudit(started=self._report.started, topics=counts)]
        plot = doc.Plot(
            "trend",
            "Trend over audits",
            "There is no trend, because this audit has read no earlier audit of these topics.",
            whole=True,
        )
        if not self._report.trend:
            return plot
        passed = [f"{each.topics.get(Verdict.PASS, 0):,} of {sum(each.topics.values()):,}" for each in audits[-2:]]
        caption = (
            f"At the audit of {display.timestamp(audits[-2].started)}, {passed[0]} topics passed; now {passed[1]} pass."
            " Each column is an audit, the latest one last; its height is the number of topics."
        )
        cells = doc.grid(
            reversed(audits),
            {
                doc.named("Audit of"): lambda each: display.timestamp(each.started),
                **_verdict_columns(WORST_FIRST, lambda each: each.topics),
            },
        )
        table = doc.Table(*cells, "Topics by verdict, one row per audit")
        folded = doc.Details(line("The trend as a table"), (table,))
        return replace(plot, caption=caption, drawing=trend(audits), blocks=(folded,))

    def _topics(self) -> doc.Table:
        on_terminal = self._medium is Medium.TERMINAL
        columns = (
            doc.Column("Verdict"),
            doc.named("Topic"),
            doc.number("Parts" if on_terminal else "Partitions"),
            doc.number("Records"),
            doc.number("Payload", wide=True),
            doc.number("Size" if on_terminal else "On disk"),
            doc.Column("Timestamps (UTC)", wide=True, below=True),
            doc.number("Skew"),
        )
        topics = [topic for topic in self._view.topics if topic.facts]
        rows = self._folded_rows(topics) if on_terminal else map(self._row, topics)
        return doc.Table(columns, tuple(rows), "All topics", noun="topic")

    def _row(self, topic: TopicDigest) -> doc.Row:
        facts = topic.facts or TopicFacts(name=topic.name, domain="", declared=False)
        records, payload, size = self._amounts(facts)
        cells = (
            display.count(len(facts.partitions) or None),
            display.count(records),
            display.size(payload),
            display.size(size),
            display.span(*time_span(facts)),
            display.multiple(facts.skew),
        )
        ref = self._refs[topic.name]
        return doc.Row((line(_badge(topic.verdict)), self._name(topic), *map(line, cells)), ref)

    def _amounts(self, facts: TopicFacts) -> tuple[int | None, int | None, int | None]:
        """Return a topic's records, payload and size, None for what is unknown. A terminal has the payload as size."""
        if not facts.partitions:
            return None, None, None
        payload, size = facts.payload_bytes, facts.log_bytes
        return facts.records, payload, payload if size is None and self._medium is Medium.TERMINAL else size

    def _folded_rows(self, topics: Sequence[TopicDigest]) -> Iterator[doc.Row]:
        for folded, group in groupby(topics, _folded):
            rows = list(group)
            if not folded or len(rows) <= _MOST_ROWS:
                yield from map(self._row, rows)
                continue
            facts = [topic.facts for topic in rows if topic.facts]
            records, payloads, sizes = zip(*map(self._amounts, facts), strict=True)
            sums = (
                display.count(sum(len(topic.partitions) for topic in facts)),
                display.total(records, display.count),
                display.total(payloads, display.size),
                display.total(sizes, display.size),
            )
            what = line(muted(f"{counted(len(rows), 'topic')} that {folded}"))
            yield doc.Row((line(_badge(rows[0].verdict)), what, *map(line, sums), (), ()))


def _by_cause(findings: Iterable[Finding]) -> Iterable[Sequence[Finding]]:
    """Return the findings in their order; those that are undecidable for the same reason are together."""
    causes: dict[object, list[Finding]] = {}
    for each in findings:
        same = each.message, each.because, each.remedy, each.partitions, each.evidence, each.since, each.location
        causes.setdefault(repr(same) if each.verdict is Verdict.UNDECIDABLE else id(each), []).append(each)
    return causes.values()


def _verdict_columns(
    verdicts: Sequence[Verdict], counts: Callable[[_Item], Mapping[Verdict, int]]
) -> dict[doc.Column | str, Callable[[_Item], str]]:
    def cell(verdict: Verdict) -> Callable[[_Item], str]:
        return lambda item: display.count(counts(item).get(verdict, 0))

    return {doc.number(verdict.value.capitalize()): cell(verdict) for verdict in verdicts}


def _folded(topic: TopicDigest) -> str:
    """Return what the row of many topics such as this one says; empty if each of them needs a row of its own."""
    if topic.only_undeclared:
        return "are on the cluster, but not declared"
    return "" if topic.findings else "passed all checks"


def _importance(topic: TopicDigest) -> tuple[int, int]:
    return WORST_FIRST.index(topic.verdict), -((topic.facts and topic.facts.records) or 0)


def _badge(verdict: Verdict) -> Span:
    return doc.badge(f"{SYMBOLS[verdict]} {verdict.value}", _TONES[verdict])


def _word(verdict: Verdict) -> str:
    return "note" if verdict is Verdict.PASS else verdict.value


def _settled(settled: SettledFinding) -> doc.Paragraph:
    partitions = f" [{display.ranges(settled.partitions)}]" if settled.partitions else ""
    label = strong(f"now {settled.now.value}", _TONES[settled.now])
    subject = strong(f"{settled.check} {settled.topic}{partitions}:")
    since = code(display.timestamp(settled.since))
    return doc.Paragraph(line(label, " ", subject, f" was {settled.was.value} at ", since, f": {settled.why}"))


_RESOLVED: Final = _badge(Verdict.PASS)
_WITHDRAWN: Final = doc.badge("withdrawn", Tone.UNDECIDABLE)


def _many_ended(found: Sequence[PastFinding], label: Span) -> tuple[doc.Many, ...]:
    lines = tuple(doc.Paragraph(_ended(each, label)) for each in found)
    return (doc.Many(lines, "finding", _MOST_ENDED),) if lines else ()


def _ended(finding: PastFinding, label: Span) -> Line:
    since = code(display.timestamp(finding.since))
    return line(label, " ", strong(f"{finding.check} {finding.topic}:"), f" was {finding.verdict.value} since ", since)


def _searched(topic: TopicDigest) -> list[str]:
    return [topic.name, topic.domain, topic.owner, *sorted({finding.check for finding in topic.findings})]
