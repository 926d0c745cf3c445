"""Make the document of a plan: topics by severity, access and subjects, each with the consequences of its change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from topicwarden.model.message_text import and_others, counted, counted_more, first_of
from topicwarden.model.planned_change import (
    MOST_SEVERE_FIRST,
    AccessPlan,
    Consequence,
    PlanReport,
    RegistryPlan,
    Severity,
    SubjectPlan,
    TopicPlan,
    most_severe,
    user_sentences,
)
from topicwarden.model.problem import Location
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.document import (
    Document,
    Line,
    Medium,
    Tone,
    code,
    cut,
    line,
    muted,
    name,
    prose,
    shortened,
    strong,
)
from topicwarden.report.plan import tables
from topicwarden.report.plan.digest import (
    SYMBOLS,
    PlanDigest,
    allowance_text,
    digest,
    foreign_text,
    item_text,
    principal_text,
)

MARKER: Final = "<!-- topicwarden plan {} -->"
_TONES: Final = {
    Severity.REFUSED: Tone.FAIL,
    Severity.DANGER: Tone.SUSPECT,
    Severity.NOTE: Tone.NOTE,
    None: Tone.PASS,
}
_MOST_TOPICS: Final = 30
"""How many topics of one severity a terminal shows; of more topics with consequences, it shows ``_MOST_BRIEF``."""
_MOST_BRIEF: Final = 10
"""How many of very many topics with consequences are shown: the first with its details, the others on a line each."""
_MOST_FOLDERS: Final = 8
_MOST_LETTERS: Final = 240
_ALL: Final = "topicwarden plan --out FOLDER writes them to plan.txt and plan.json"


def document(report: PlanReport, medium: Medium, *, whole: bool = False) -> Document:
    """Return the document of ``report``. Without ``whole``, a terminal counts many topics of one severity."""
    return _PlanDocument(digest(report), medium, None if whole else _MOST_TOPICS).document()


def marker(stack: str) -> str:
    """Return the first line of the comment, an HTML comment by which a later run finds and replaces the comment."""
    return MARKER.format(display.one_line(stack).replace(">", ""))


class _PlanDocument:
    def __init__(self, view: PlanDigest, medium: Medium, most: int | None) -> None:
        self._view, self._report, self._most = view, view.report, most
        self._terminal = medium is Medium.TERMINAL

    def document(self) -> Document:
        view, report = self._view, self._report
        cluster = code(report.cluster_id) if report.cluster_id else "unknown"
        taken_at = code(display.timestamp(report.taken_at))
        hint = f"see the job's artifact, or run `topicwarden plan --stack {report.stack}`"
        return Document(
            "Plan for stack",
            report.stack,
            view.headline,
            view.summary,
            tuple(self._blocks() if self._terminal else self._folded_blocks()),
            "topicwarden plan --out FOLDER writes all" if self._terminal else hint,
            notes=tuple(self._notes()),
            marker=marker(report.stack),
            source=line("Cluster ", cluster, " as of ", taken_at, f", topicwarden {report.topicwarden}."),
        )

    def _notes(self) -> Iterator[doc.Note]:
        if not self._terminal:
            yield from (doc.Note("Pulumi", line(error)) for error in self._report.engine.errors)
        yield from (doc.Note("not visible", prose(each)) for each in self._report.unseen)
        yield from (doc.Note("remark", prose(each)) for each in self._report.remarks)
        unneeded = [each for each in self._report.allowances if not each.needed]
        shown, more = shortened(unneeded, len(unneeded) if self._most is None else _MOST_BRIEF)
        for each in (each for each in self._report.allowances if each.needed or each in shown):
            location = (" (", code(str(each.location)), ")") if each.location else ()
            yield doc.Note("allowed", line(allowance_text(each), *location))
        if more:
            yield doc.Note("allowed", line(f"{counted_more(more, 'change')}; nothing in this plan needs them"))

    def _blocks(self) -> Iterator[doc.Block]:
        view = self._view
        for error in self._report.engine.errors:
            yield doc.Paragraph(line(strong("pulumi", Tone.FAIL), f" {error}"))
        for severity, topics in groupby(view.topics, key=lambda topic: topic.severity):
            of_severity = list(topics)
            most = len(of_severity) if self._most is None else self._most
            brief = severity is not None and len(of_severity) > most
            shown = of_severity[: _MOST_BRIEF if brief else most]
            yield from map(self._topic, shown[: 1 if brief else None])
            yield from map(self._brief, shown[1:] if brief else ())
            if rest := of_severity[len(shown) :]:
                yield _counts_of(severity, rest)
        if view.access:
            yield self._access(view.access)
        if view.registry:
            yield from map(self._subject, view.registry.subjects)
            if view.registry.consequences:
                heading = self._heading(most_severe(view.registry.consequences), "Schema Registry")
                findings = tuple(_consequence(each, "") for each in view.registry.consequences)
                yield doc.DocumentSection("Schema Registry", findings, heading=heading, titled=True, compact=True)

    def _folded_blocks(self) -> Iterator[doc.Block]:
        view = self._view
        subjects = view.registry.subjects if view.registry else ()
        urgent = [subject for subject in subjects if subject.severity in (Severity.REFUSED, Severity.DANGER)]
        listed: list[TopicPlan | SubjectPlan] = [*view.topics, *urgent]
        listed.sort(key=lambda each: (*MOST_SEVERE_FIRST, None).index(each.severity))
        columns = (doc.Column(""), *map(doc.named, ("Topic", "Change", "Consequence")))
        # At least a third is for the details, because a refusal without its reasons does not help.
        if listed:
            yield doc.Table(columns, tuple(map(_row, listed)), "Topics", noun="topic", share=0.6)
        if view.access:
            yield self._access(view.access)
        if view.registry:
            yield self._registry(view.registry)
        detailed = [topic for topic in view.topics if topic.settings or topic.consequences]
        yield doc.Many(tuple(map(self._topic, detailed)), "topic", what="the details of ")

    def _heading(self, severity: Severity | None, text: str) -> Line:
        if self._terminal:
            return line(strong(SYMBOLS[severity], _TONES[severity]), strong(f" {text}"))
        return line(f"{SYMBOLS[severity]} {text}")

    def _summary(self, planned: TopicPlan | SubjectPlan) -> Line:
        severity, symbol, action = planned.severity, SYMBOLS[planned.severity], _action(planned)
        is_topic = isinstance(planned, TopicPlan)
        named = planned.topic if isinstance(planned, TopicPlan) else planned.subject
        if self._terminal:
            shown = named if is_topic else f"subject {named}"
            form = () if isinstance(planned, TopicPlan) else (muted(f" ({planned.format})"),)
            return line(strong(f"{symbol} {action}", _TONES[severity]), " ", strong(shown), *form)
        change = "" if is_topic else tables.setting_changes(planned)
        words = (strong(severity.value), " ") if severity else ()
        return line(f"{symbol} ", *words, name(named), f": {action}{f', {change}' if change else ''}")

    def _topic(self, topic: TopicPlan) -> doc.Details | doc.Paragraph:
        table = tables.settings(topic)
        if self._terminal and not topic.consequences and (table is None or len(table.columns) == 2):
            # Without a comparison, one line per topic is easier to read, as in the first deploy of many topics.
            values = ", ".join(" ".join(cell[0].text for cell in row.cells) for row in table.rows) if table else ""
            return doc.Paragraph((*self._summary(topic), *((muted(f": {values}"),) if values else ())))
        return doc.Details(self._summary(topic), tuple(_parts(table, (), topic, topic.topic * self._terminal)))

    def _brief(self, topic: TopicPlan) -> doc.Paragraph:
        first, *others = topic.consequences
        message = line(f": {first.kind}: ", prose(first.message), and_others(len(others)))
        return doc.Paragraph(line(self._summary(topic), message))

    def _subject(self, subject: SubjectPlan) -> doc.Details:
        table = tables.settings(subject)
        named = subject.subject * self._terminal
        return doc.Details(self._summary(subject), tuple(_parts(table, subject.difference, subject, named)))

    def _access(self, access: AccessPlan) -> doc.DocumentSection:
        effects = doc.facts({"effect": map(principal_text, access.principals), "others": [foreign_text(access)]})
        by_action: dict[str, list[str]] = {}
        for item in access.items:
            by_action.setdefault(item.action.value, []).append(item_text(item))
        changes = doc.facts(by_action)
        findings = doc.Many(tuple(_consequence(each, "") for each in access.consequences), "consequence", share=0.3)
        if self._terminal:
            blocks: tuple[doc.Block, ...] = (doc.FactList((*changes, *effects)), findings)
        else:
            folded = doc.Details(line(f"{counted(len(access.items), 'change')} of access"), (doc.FactList(changes),))
            blocks = (findings, doc.FactList(effects), *((folded,) if changes else ()))
        heading = self._heading(access.severity, "access" if self._terminal else "Access")
        return doc.DocumentSection("Access", blocks, heading=heading, titled=True, compact=True, plain=True)

    def _registry(self, registry: RegistryPlan) -> doc.DocumentSection:
        findings = tuple(_consequence(each, "") for each in registry.consequences)
        subjects = doc.Many(tuple(map(self._subject, registry.subjects)), "subject", share=0.25)
        heading = self._heading(registry.severity, "Subjects")
        return doc.DocumentSection("Subjects", (*findings, subjects), heading=heading, plain=True)


def _parts(
    table: doc.Table | None, difference: Sequence[str], planned: TopicPlan | SubjectPlan, subject: str
) -> Iterator[doc.Block]:
    if table:
        yield table
    if difference:
        yield doc.DiffBlock(tuple(difference))
    shown: set[str] = set()  # several losses of a topic have the same readers and writers
    for each in planned.consequences:
        yield _consequence(each, subject, shown)
        shown.update(_background(each))
    if planned.location and not any(each.location for each in planned.consequences):
        yield doc.FactList(doc.facts({"declared": _declared(planned.location)}))


def _action(planned: TopicPlan | SubjectPlan) -> str:
    return planned.change if isinstance(planned, TopicPlan) else planned.action.value


def _declared(location: Location | None) -> list[doc.Span]:
    return [code(str(location))] if location else []


def _background(consequence: Consequence) -> list[str]:
    return [*consequence.because, *user_sentences(consequence.users)]


def _consequence(consequence: Consequence, subject: str, shown: Collection[str] = ()) -> doc.FindingBlock:
    """Return a consequence for people. ``shown`` are reasons that an earlier one of the same topic has."""
    facts: dict[str, Iterable[doc.Words]] = {
        "because": [prose(each) for each in consequence.because if each not in shown],
        "used": [each for each in user_sentences(consequence.users) if each not in shown],
        "measured": [consequence.measured or ""],
        "remedy": [prose(consequence.remedy or "")],
        "declared": _declared(consequence.location),
    }
    found = (tables.partitions(consequence), tables.groups(consequence))
    return doc.FindingBlock(
        consequence.severity.value,
        _TONES[consequence.severity],
        line(name(f"{consequence.kind} {subject}".rstrip())),
        consequence.message,
        doc.facts(facts),
        tuple(filter(None, found)),
    )


def _row(planned: TopicPlan | SubjectPlan) -> doc.Row:
    shown = line(name(planned.topic)) if isinstance(planned, TopicPlan) else line("subject ", name(planned.subject))
    change = tables.setting_changes(planned)
    consequence = line(display.NOTHING)
    if planned.consequences:
        first, *rest = planned.consequences
        message = prose(cut(first.message, _MOST_LETTERS))
        consequence = line(strong(first.severity.value), ": ", *message, and_others(len(rest)))
    action = line(f"{_action(planned)}{f': {change}' if change else ''}")
    return doc.Row((line(SYMBOLS[planned.severity]), shown, action, consequence))


def _counts_of(severity: Severity | None, topics: Sequence[TopicPlan]) -> doc.DocumentSection:
    """Return how many topics of a severity are not shown, by action, kind of consequence and folder."""
    actions = Counter(topic.action.value for topic in topics)
    kinds = Counter(kind for topic in topics for kind in {each.kind for each in topic.consequences})
    folders = Counter(str(Path(topic.location.file).parent) if topic.location else "no file" for topic in topics)
    word = f" {severity.value}" if severity else ""
    head = f"{SYMBOLS[severity]} {counted_more(len(topics))}{word}: {_counts(actions)}"
    facts = doc.FactList(doc.facts({"kinds": [_counts(kinds)], "in": [_counts(folders)], "all": [_ALL]}))
    return doc.DocumentSection("", (doc.Paragraph(line(strong(head, _TONES[severity]))), facts), compact=True)


def _counts(numbers: Counter[str]) -> str:
    """Return the names with their numbers, the most frequent first: ``90 create, 5 update``."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return first_of([f"{number:,} {named}" for named, number in ordered], _MOST_FOLDERS)
