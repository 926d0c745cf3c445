"""Make the document of a usage report: what needs attention, topics, owners and domains, and who uses each topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from topicwarden.model.message_text import first_of
from topicwarden.model.usage_report import CostShare, TopicUsage, TopicUser, UsageReport
from topicwarden.report import display
from topicwarden.report.document import (
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
    Medium,
    Note,
    Paragraph,
    Row,
    Table,
    Tone,
    TopicRef,
    badge,
    code,
    line,
    muted,
    name,
    prose,
    strong,
)
from topicwarden.report.usage import digest as texts
from topicwarden.report.usage.digest import AttentionItem, UsageDigest, digest

MAX_ITEMS: Final = 10
"""Number of items that need attention that a terminal shows for each word."""
MAX_TOPICS: Final = 20
"""Number of topics that a terminal shows."""
_MOST_OPEN: Final = 20
_MOST_USERS: Final = 100
_TONES: Final = {"undeclared": Tone.FAIL, "idle": Tone.SUSPECT, "unused": Tone.SUSPECT, "other": Tone.PASS}
_COMPLETE: Final = {
    Medium.TERMINAL: "--format json and the files of --out have all",
    Medium.MARKDOWN: "the JSON has all",
    Medium.PAGE: "the JSON has all",
}
_ATTENTION_LEAD: Final = (
    "First what is used without a declaration, then what nobody uses, with the change that would declare or remove it."
    " A question mark means that no use was seen, which is no proof. This report changes nothing."
)


def document(report: UsageReport, medium: Medium, audit: str = "") -> Document:
    """Return the document of ``report``.

    ``audit`` is the page of the audit that made the report, to which the page leads back; empty for none.
    """
    return _UsageDocument(digest(report), medium).document(audit)


class _UsageDocument:
    def __init__(self, view: UsageDigest, medium: Medium) -> None:
        self._view, self._report, self._medium = view, view.report, medium
        self._anchors = {topic.name: f"topic-{number}" for number, topic in enumerate(self._report.topics, start=1)}
        self._detailed = self._report.topics[: medium.most(MAX_TOPICS, 0, 100)]
        self._linked = {topic.name for topic in self._detailed} if medium is Medium.PAGE else set()
        self._words = _words(self._report)
        self._price = () if self._report.currency is None else (Column(f"{self._report.currency}/month", "number"),)

    def document(self, audit: str) -> Document:
        view, report = self._view, self._report
        terminal, page = self._medium is Medium.TERMINAL, self._medium is Medium.PAGE
        blocks: tuple[Block, ...] = (Paragraph(line(strong(view.headline))),) if terminal else ()
        word = "limit" if terminal else ""
        notes = [*report.notes, *texts.cost_notes(report.topics)]
        observed = texts.day(report.observed_since)
        return Document(
            "Use of the topics of stack",
            report.stack,
            view.headline,
            f"{view.summary}. Observed since {observed}." if self._medium is Medium.MARKDOWN else view.summary,
            (*blocks, *self._blocks()),
            _COMPLETE[self._medium],
            notes=tuple(Note(word, line(note)) for note in notes),
            facts=(
                ("read", display.timestamp(report.taken_at)),
                ("observed since", observed),
                ("cluster", report.cluster_id or "unknown"),
            ),
            cards=tuple(self._cards()) if page else (),
            links=(("Audit", audit),) if audit else (),
            filter=Filter("name, domain, owner or user", "Use", ("undeclared", "idle", "other")) if page else None,
            page_title=f"{report.stack}: use of topics at {display.timestamp(report.taken_at)}",
            source=line(f"Made by topicwarden {report.topicwarden}. This page sends no network requests.")
            if page
            else (),
        )

    def _cards(self) -> Iterator[Card]:
        total, unused = self._report.total, len(self._report.removable)
        undeclared = sum(item.word == "undeclared" for item in self._view.attention)
        yield Card("bytes on all replicas", texts.size_of(total))
        if self._report.currency is not None:
            yield Card(f"{self._report.currency} per month", texts.money(total.cost_per_month))
        yield Card("without a declaration", display.count(undeclared), Tone.FAIL, quiet=not undeclared)
        yield Card("used by nobody", display.count(unused), Tone.SUSPECT, quiet=not unused)

    def _blocks(self) -> Iterator[Block]:
        report, page = self._report, self._medium is Medium.PAGE
        if self._view.attention:
            yield DocumentSection("Needs attention", tuple(self._attention()), _ATTENTION_LEAD, "attention")
        shares = [
            self._shares(title, shares)
            for title, shares in (("Owner", report.owners), ("Domain", report.domains))
            if shares and (page or any(share.name for share in shares))
        ]
        shown = (self._topics(),) if report.topics or page else ()
        topics = DocumentSection("Topics", shown, self._topics_lead(), "topics")
        tables: tuple[Block, ...] = (Many(tuple(shares), "table", style="figures"),) if page else tuple(shares)
        of_owners = DocumentSection("Owners and domains", tables, self._owners_lead(), "cost")
        users = self._users()
        order = (of_owners, topics, users) if page else (topics, users, of_owners)
        yield from (section for section in order if section and section.blocks)

    def _owners_lead(self) -> str:
        if self._report.currency is None:
            return "Policies without cost: have no prices, so the largest come first."
        return f"The most expensive come first. Costs are in {self._report.currency} for 30 days."

    def _topics_lead(self) -> str:
        first = "The largest come first" if self._report.currency is None else "The most expensive come first"
        return (
            f"{first}, then by name. Written and read are the times of the last write and the last commit or active"
            " reader, as observations have shown them."
        )

    def _attention(self) -> Iterator[Many]:
        items = self._view.attention
        groups = [items]
        if self._medium is Medium.TERMINAL:
            words = dict.fromkeys(item.word for item in items)
            groups = [tuple(item for item in items if item.word == word) for word in words]
        for group in groups:
            noun = f"{group[0].word} item" if self._medium is Medium.TERMINAL else "item"
            blocks = tuple(self._item(item, number) for number, item in enumerate(group))
            yield Many(blocks, noun, self._medium.most(MAX_ITEMS, 20, 200), share=0.4)

    def _item(self, item: AttentionItem, number: int) -> FindingBlock:
        word = item.word.rstrip("?")
        tone = Tone.UNDECIDABLE if item.word.endswith("?") and self._medium is Medium.PAGE else _TONES[word]
        anchor = self._anchors.get(item.subject, "")
        facts = [LabelledValues("remedy", tuple(map(prose, item.steps)))] if item.steps else []
        facts += [LabelledValues("declared", (line(code(item.location)),))] if item.location else []
        return FindingBlock(
            item.word,
            tone,
            line(name(item.subject, f"#{anchor}" if item.subject in self._linked else "")),
            item.message,
            tuple(facts),
            open=number < _MOST_OPEN,
            level=3,
            topic=TopicRef(anchor) if anchor else None,
        )

    def _topics(self) -> Table:
        page, markdown = self._medium is Medium.PAGE, self._medium is Medium.MARKDOWN
        columns = (
            *((Column("Use"),) if page else ()),
            Column("Topic", "name"),
            *(() if page else (Column("Owner", "name", wide=True),)),
            Column("Replicas", "number"),
            Column("Tiered", "number", wide=True),
            Column("Per day", "number"),
            *self._price,
            *((Column("Writers", "number"), Column("Readers", "number")) if page else ()),
            Column("Written"),
            Column("Read"),
            *((Column("Readers", "name"),) if markdown else ()),
        )
        topics = self._report.topics
        most = self._medium.most(MAX_TOPICS, 50, len(topics))
        rest = self._rest(topics[most:]) if self._medium is Medium.TERMINAL else ""
        rows = tuple(map(self._topic, topics))
        return Table(columns, rows, "All topics", noun="topic", most=most, rest=rest, share=0.5)

    def _topic(self, topic: TopicUsage) -> Row:
        page, taken_at, anchor = self._medium is Medium.PAGE, self._report.taken_at, self._anchors[topic.name]
        word = self._words[topic.name]
        shown = line(name(topic.name, f"#{anchor}" if topic.name in self._linked else ""))
        if page and not topic.declared:
            shown += line(" ", muted("not declared"))
        numbers = (line(display.count(len(users))) for users in (topic.writers, topic.readers))
        readers = first_of(texts.marked_names(topic.readers), 5)
        cells = (
            *((line(badge(word, _TONES[word])),) if page else ()),
            shown,
            *(() if page else (line(topic.owner),)),
            line(display.size(topic.replica_bytes)),
            line(display.size(topic.tiered_bytes)),
            line(texts.growth_text(topic.growth.replica_bytes_per_day if topic.growth else None)),
            *((line(texts.money(topic.cost.per_month if topic.cost else None)),) if self._price else ()),
            *(numbers if page else ()),
            line(texts.recency(topic.last_written, taken_at)),
            line(texts.recency(topic.last_read, taken_at)),
            *((line(readers),) if self._medium is Medium.MARKDOWN else ()),
        )
        return Row(cells, TopicRef(anchor, _search_text(topic), word))

    def _rest(self, topics: Sequence[TopicUsage]) -> str:
        parts = [f"{display.size(sum(topic.replica_bytes or 0 for topic in topics))} on all replicas"]
        if self._report.currency is not None:
            costs = sum((topic.cost.per_month or 0) if topic.cost else 0 for topic in topics)
            parts.append(f"{texts.money(costs)} {self._report.currency} per month")
        return f", {', '.join(parts)}"

    def _shares(self, title: str, shares: Sequence[CostShare]) -> Table:
        columns = (Column(title, "name"), Column("Topics", "number"), Column("Replicas", "number"), *self._price)
        rows = tuple(
            Row(
                (
                    line(name(share.name, "#topics", share.name) if share.name else muted("(none)")),
                    line(display.count(share.topics)),
                    line(texts.size_of(share)),
                    *((line(texts.money(share.cost_per_month)),) if self._price else ()),
                )
            )
            for share in shares
        )
        most = self._medium.most(8, 12, 12)
        titled, noun = self._medium is Medium.PAGE, title.lower()
        return Table(columns, rows, f"Topics by {noun}", titled, noun, most, share=0.5)

    def _users(self) -> DocumentSection | None:
        if self._medium is Medium.PAGE:
            lead = (
                "What Kafka knows of the clients of each topic, in UTC. Candidates are the principals that the ACLs of"
                " the cluster allow this use."
            )
            topics = tuple(Details(*self._details(topic)) for topic in self._report.topics)
            many = Many(topics, "topic", len(self._detailed), "the details of ", style="topic-list")
            blocks: tuple[Block, ...] = (many,) if topics else (Paragraph(line("There are no topics.")),)
            return DocumentSection("Readers and writers", blocks, lead, "details")
        named = [
            (topic, [(verb, users) for verb, users in (("written", topic.writers), ("read", topic.readers)) if users])
            for topic in self._detailed
        ]
        blocks = tuple(
            Details(
                line(strong(topic.name)),
                tuple(
                    FactList((LabelledValues(f"{verb} by", (line(first_of(texts.marked_names(users), 4)),)),))
                    for verb, users in lines
                ),
            )
            for topic, lines in named
            if lines
        )
        return DocumentSection("", blocks)

    def _details(self, topic: TopicUsage) -> tuple[Line, tuple[Block, ...], TopicRef]:
        counts = f"{len(topic.writers):,} writers, {len(topic.readers):,} readers"
        summary = line(strong(topic.name), " ", muted(f"{display.size(topic.replica_bytes)}, {counts}"))
        shown = [LabelledValues(label, (line(text),)) for label, text in self._traits(topic)]
        blocks: list[Block] = [FactList(tuple(shown))]
        for title, users in (("Writers", topic.writers), ("Readers", topic.readers)):
            blocks.append(_user_table(title, users) if users else Paragraph(line(muted(f"{title}: none seen."))))
        return summary, tuple(blocks), TopicRef(self._anchors[topic.name])

    def _traits(self, topic: TopicUsage) -> Iterator[tuple[str, str]]:
        if topic.owner:
            yield "owner", topic.owner
        yield "partitions", f"{display.count(topic.partitions)} with {topic.replication_factor} replicas"
        yield "last write", texts.interval_text(topic.last_written)
        yield "last read", texts.interval_text(topic.last_read)
        yield "observed since", texts.day(topic.observed_since)
        complete = "never" if topic.complete_since is None else texts.day(topic.complete_since)
        yield "all groups and producers seen since", complete
        if topic.growth:
            written = display.size(topic.growth.written_bytes_per_day)
            yield "written per day", f"{round(topic.growth.records_per_day):,} offsets, about {written}"
        if topic.cost:
            parts = ", ".join(
                f"{part} {texts.money(getattr(topic.cost, part))}" for part in ("storage", "tiered", "written", "read")
            )
            yield f"{self._report.currency} per month", f"{texts.money(topic.cost.per_month)}: {parts}"


def _user_table(title: str, users: Sequence[TopicUser]) -> Table:
    reads = title == "Readers"
    columns = (
        Column("Name", "name"),
        *map(Column, ("Kind", "Declared", "Active")),
        Column("Members", "number"),
        *((Column("Lag", "number"),) if reads else ()),
        Column("Last use"),
        Column("Candidates", "name"),
        Column("Hosts", "name"),
    )
    rows = tuple(
        Row(
            (
                line(name(user.name)),
                line(texts.user_kind(user)),
                line(badge("no", Tone.FAIL) if user.declared is False else texts.declared_text(user)),
                line("yes" if user.active else "no"),
                line(display.count(user.members)),
                *((line(texts.lag_text(user)),) if reads else ()),
                line(texts.interval_text(user.last)),
                line(texts.principals_text(user)),
                line(first_of(user.hosts, 5) or display.NOTHING),
            )
        )
        for user in users
    )
    return Table(columns, rows, title, titled=True, noun=title.lower().removesuffix("s"), most=_MOST_USERS)


def _words(report: UsageReport) -> dict[str, str]:
    """Return the word of each topic by its name: ``undeclared`` before ``idle``, else ``other``."""
    undeclared = {use.topic for use in report.undeclared if use.access_declared}
    idle = {each.name for each in report.removable if each.kind == "topic"}
    return {
        topic.name: "undeclared" if topic.name in undeclared else "idle" if topic.name in idle else "other"
        for topic in report.topics
    }


def _search_text(topic: TopicUsage) -> str:
    """Return the text in which the page's filter searches. Bars separate the names, for searches of a whole name."""
    users = [user.name for user in (*topic.writers, *topic.readers)][:_MOST_USERS]
    return display.one_line(f"|{'|'.join([topic.name, topic.domain, topic.owner, *users])}|").lower()
