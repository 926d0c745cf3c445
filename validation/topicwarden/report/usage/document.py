"""Make the document of a usage report: what needs attention, topics, owners and domains, and who uses each topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from topicwarden.model.message_text import counted, first_of
from topicwarden.model.problem import Location
from topicwarden.model.usage import UseAction
from topicwarden.model.usage_report import CostShare, Removable, TopicUsage, TopicUser, UndeclaredUse, UsageReport
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.document import Document, Line, Medium, Tone, badge, code, line, muted, name, prose, strong
from topicwarden.report.usage import digest as texts

MAX_ITEMS: Final = 10
"""Number of items that need attention that a terminal shows for each word."""
MAX_TOPICS: Final = 20
"""Number of topics that a terminal shows."""
_MOST_OPEN: Final = 20
_MOST_USERS: Final = 100
_FILTERED: Final = ("undeclared", "idle", "other")
_COSTS: Final = ("storage", "tiered", "written", "read")
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
    return _UsageDocument(report, medium).document(audit)


class _UsageDocument:
    def __init__(self, report: UsageReport, medium: Medium) -> None:
        self._report, self._medium = report, medium
        self._anchors = {topic.name: f"topic-{number}" for number, topic in enumerate(self._report.topics, start=1)}
        self._detailed = self._report.topics[: medium.most(MAX_TOPICS, 0, 100)]
        self._page = medium is Medium.PAGE
        self._linked_topics = {topic.name for topic in self._detailed} if self._page else set()
        self._words = _words(self._report)
        self._price = "" if self._report.currency is None else f"{self._report.currency}/month"

    def document(self, audit: str) -> Document:
        report = self._report
        terminal, page = self._medium is Medium.TERMINAL, self._page
        headline, summary = texts.headline(report), texts.summary(report)
        blocks: tuple[doc.Block, ...] = (doc.Paragraph(line(strong(headline))),) if terminal else ()
        word = "limit" if terminal else ""
        notes = [*report.notes, *texts.cost_notes(report.topics)]
        observed = texts.day(report.observed_since)
        return Document(
            "Use of the topics of stack",
            report.stack,
            headline,
            f"{summary}. Observed since {observed}." if self._medium is Medium.MARKDOWN else summary,
            (*blocks, *self._blocks()),
            _COMPLETE[self._medium],
            notes=tuple(doc.Note(word, line(note)) for note in notes),
            facts=(
                ("read", display.timestamp(report.taken_at)),
                ("observed since", observed),
                ("cluster", report.cluster_id or "unknown"),
            ),
            cards=tuple(self._cards()) if page else (),
            links=(("Audit", audit),) if audit else (),
            filter=doc.Filter("name, domain, owner or user", "Use", _FILTERED) if page and report.topics else None,
            page_title=f"{report.stack}: use of topics at {display.timestamp(report.taken_at)}",
            source=line(f"Made by topicwarden {report.topicwarden}. {doc.OFFLINE}") if page else (),
        )

    def _cards(self) -> Iterator[doc.Card]:
        total, proven = self._report.total, Counter(each.proven for each in self._report.removable)
        undeclared = len(texts.undeclared(self._report))
        at_least = ", at least" if texts.size_of(total).startswith("at least") else ""
        yield doc.Card(f"on all replicas{at_least}", texts.size_of(total).removeprefix("at least "))
        if self._report.currency is not None:
            yield doc.Card(f"{self._report.currency} per month", texts.money(total.cost_per_month))
        yield doc.Card("without a declaration", display.count(undeclared), Tone.FAIL, quiet=not undeclared)
        yield doc.Card("used by nobody", display.count(proven[True]), Tone.SUSPECT, quiet=not proven[True])
        yield doc.Card("not seen in use", display.count(proven[False]), Tone.UNDECIDABLE, quiet=not proven[False])

    def _blocks(self) -> Iterator[doc.Block]:
        report, page = self._report, self._page
        if attention := tuple(self._attention()):
            yield doc.DocumentSection("Needs attention", attention, _ATTENTION_LEAD, "attention")
        shares = [
            self._shares(title, shares)
            for title, shares in (("Owner", report.owners), ("Domain", report.domains))
            if shares and (page or any(share.name for share in shares))
        ]
        shown = (self._topics(),) if report.topics else ()
        topics = doc.DocumentSection("Topics", shown, self._topics_lead(), "topics")
        tables: tuple[doc.Block, ...] = tuple(shares)
        if page and shares:
            tables = (doc.Many(tables, "table", style="figures"),)
        of_owners = doc.DocumentSection("Owners and domains", tables, self._owners_lead(), "cost")
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

    def _attention(self) -> Iterator[doc.Many]:
        items = [*map(self._undeclared, texts.undeclared(self._report)), *map(self._removable, self._report.removable)]
        groups = [items] if items else []
        if self._medium is Medium.TERMINAL:
            words = dict.fromkeys(item.word for item in items)
            groups = [[item for item in items if item.word == word] for word in words]
        for group in groups:
            noun = f"{group[0].word} item" if self._medium is Medium.TERMINAL else "item"
            blocks = tuple(replace(item, open=number < _MOST_OPEN) for number, item in enumerate(group))
            yield doc.Many(blocks, noun, self._medium.most(MAX_ITEMS, 20, 200), share=0.4)

    def _undeclared(self, use: UndeclaredUse) -> doc.FindingBlock:
        verb = "reads" if use.action is UseAction.READ else "writes"
        who = ""
        if use.principal is not None:
            who = f"; its principal is {use.principal}"
        elif use.candidates:
            who = f"; its principal is one of {first_of(use.candidates, 5)}"
        message = f"{texts.KINDS[use.kind]} {use.name} {verb} it, and no access of the YAML allows that{who}"
        step = f"declare it: {use.entry}" if use.principal else f"declare it, or stop it: {use.reason}"
        return self._item("undeclared", use.topic, message, [step], use.location)

    def _removable(self, each: Removable) -> doc.FindingBlock:
        gains = [f"frees {display.size(each.frees_bytes)}"] if each.frees_bytes else []
        if each.saves_per_month is not None:
            gains.append(f"saves {texts.money(each.saves_per_month)} {self._report.currency} per month")
        message = "; ".join([each.reason, *([", ".join(gains)] if gains else [])])
        steps = [*each.yaml, *([f"run `{each.command}`"] if each.command else [])]
        subject = each.name if each.kind == "topic" else f"{texts.NOUNS[each.kind]} {each.name}"
        word = "unused" if each.kind == "acl" else "idle"
        return self._item(word if each.proven else f"{word}?", subject, message, steps, each.location)

    def _item(
        self, word: str, subject: str, message: str, steps: Sequence[str], location: Location | None
    ) -> doc.FindingBlock:
        anchor = self._anchors.get(subject, "")
        facts: dict[str, Iterable[doc.Words]] = {
            "remedy": map(prose, steps),
            "declared": [code(str(location))] if location else [],
        }
        return doc.FindingBlock(
            word,
            Tone.UNDECIDABLE if word.endswith("?") and self._page else _TONES[word.rstrip("?")],
            line(self._linked(subject)),
            message,
            doc.facts(facts),
            level=3,
            topic=doc.TopicRef(anchor) if anchor else None,
        )

    def _linked(self, subject: str) -> doc.Span:
        return name(subject, f"#{self._anchors[subject]}" if subject in self._linked_topics else "")

    def _topics(self) -> doc.Table:
        page, markdown, taken_at = self._page, self._medium is Medium.MARKDOWN, self._report.taken_at
        cells: dict[doc.Column | str, Callable[[TopicUsage], doc.Words]] = {}
        if page:
            cells["Use"] = lambda topic: badge(self._words[topic.name], _TONES[self._words[topic.name]])
        cells[doc.named("Topic")] = self._name
        if not page:
            cells[doc.named("Owner", wide=True)] = lambda topic: topic.owner
        cells |= {
            doc.number("Replicas"): lambda topic: display.size(topic.replica_bytes),
            doc.number("Tiered", wide=True): lambda topic: display.size(topic.tiered_bytes),
            doc.number("Per day"): _growth,
        }
        if self._price:
            cells[doc.number(self._price)] = _cost
        if page:
            cells[doc.number("Writers")] = lambda topic: display.count(len(topic.writers))
            cells[doc.number("Readers")] = lambda topic: display.count(len(topic.readers))
        cells["Written"] = lambda topic: texts.recency(topic.last_written, taken_at)
        cells["Read"] = lambda topic: texts.recency(topic.last_read, taken_at)
        if markdown:
            cells[doc.named("Readers")] = lambda topic: first_of(texts.marked_names(topic.readers), 5)
        topics = self._report.topics
        most = self._medium.most(MAX_TOPICS, 50, len(topics))
        rest = self._rest(topics[most:]) if self._medium is Medium.TERMINAL else ""
        table = doc.grid(topics, cells, self._ref)
        return doc.Table(*table, "All topics", noun="topic", most=most, rest=rest, share=0.5)

    def _ref(self, topic: TopicUsage) -> doc.TopicRef:
        users = [user.name for user in (*topic.writers, *topic.readers)][:_MOST_USERS]
        searched = doc.search_text([topic.name, topic.domain, topic.owner, *users])
        return doc.TopicRef(self._anchors[topic.name], searched, self._words[topic.name])

    def _name(self, topic: TopicUsage) -> Line:
        undeclared = (" ", muted("not declared")) if self._page and not topic.declared else ()
        return line(self._linked(topic.name), *undeclared)

    def _rest(self, topics: Sequence[TopicUsage]) -> str:
        parts = [f"{display.total((topic.replica_bytes for topic in topics), display.size)} on all replicas"]
        if self._report.currency is not None:
            costs = display.total((topic.cost.per_month if topic.cost else None for topic in topics), texts.money)
            parts.append(f"{costs} {self._report.currency} per month")
        return f", {', '.join(parts)}"

    def _shares(self, title: str, shares: Sequence[CostShare]) -> doc.Table:
        cells: dict[doc.Column | str, Callable[[CostShare], doc.Words]] = {
            doc.named(title): lambda share: name(share.name, "#topics", share.name) if share.name else muted("(none)"),
            doc.number("Topics"): lambda share: display.count(share.topics),
            doc.number("Replicas"): texts.size_of,
        }
        if self._price:
            cells[doc.number(self._price)] = lambda share: texts.money(share.cost_per_month)
        most, noun = self._medium.most(8, 12, 12), title.lower()
        return doc.Table(*doc.grid(shares, cells), f"Topics by {noun}", self._page, noun, most, share=0.5)

    def _users(self) -> doc.DocumentSection | None:
        if self._page:
            lead = (
                "What Kafka knows of the clients of each topic, in UTC. Candidates are the principals that the ACLs of"
                " the cluster allow this use."
            )
            topics = tuple(map(self._details, self._report.topics))
            many = doc.Many(topics, "topic", len(self._detailed), "the details of ", style="topic-list")
            return doc.DocumentSection("Readers and writers", (many,) if topics else (), lead, "details")
        uses = (("written by", "writers"), ("read by", "readers"))
        named = {
            topic.name: doc.facts(
                {verb: [first_of(texts.marked_names(getattr(topic, users)), 4)] for verb, users in uses}
            )
            for topic in self._detailed
        }
        users = (doc.Details(line(strong(topic)), (doc.FactList(facts),)) for topic, facts in named.items() if facts)
        return doc.DocumentSection("", tuple(users))

    def _details(self, topic: TopicUsage) -> doc.Details:
        counts = f"{counted(len(topic.writers), 'writer')}, {counted(len(topic.readers), 'reader')}"
        summary = line(strong(topic.name), " ", muted(f"{display.size(topic.replica_bytes)}, {counts}"))
        blocks: list[doc.Block] = [doc.FactList(doc.facts(self._traits(topic)))]
        for title, users in (("Writers", topic.writers), ("Readers", topic.readers)):
            none = doc.Paragraph(line(muted(f"{title}: none seen.")))
            blocks.append(_user_table(title, users) if users else none)
        return doc.Details(summary, tuple(blocks), doc.TopicRef(self._anchors[topic.name]))

    def _traits(self, topic: TopicUsage) -> dict[str, list[str]]:
        written, cost = "", ""
        if topic.growth:
            size = display.size(topic.growth.written_bytes_per_day)
            written = f"{round(topic.growth.records_per_day):,} offsets, about {size}"
        if topic.cost:
            parts = (f"{part} {texts.money(getattr(topic.cost, part))}" for part in _COSTS)
            cost = f"{texts.money(topic.cost.per_month)}: {', '.join(parts)}"
        complete = "never" if topic.complete_since is None else texts.day(topic.complete_since)
        return {
            "owner": [topic.owner],
            "partitions": [f"{display.count(topic.partitions)} with {topic.replication_factor} replicas"],
            "last write": [texts.interval_text(topic.last_written)],
            "last read": [texts.interval_text(topic.last_read)],
            "observed since": [texts.day(topic.observed_since)],
            "all groups and producers seen since": [complete],
            "written per day": [written],
            f"{self._report.currency} per month": [cost],
        }


def _growth(topic: TopicUsage) -> str:
    return texts.growth_text(topic.growth.replica_bytes_per_day if topic.growth else None)


def _cost(topic: TopicUsage) -> str:
    return texts.money(topic.cost.per_month if topic.cost else None)


def _user_table(title: str, users: Sequence[TopicUser]) -> doc.Table:
    lag: dict[doc.Column | str, Callable[[TopicUser], doc.Words]] = {doc.number("Lag"): texts.lag_text}
    table = doc.grid(
        users,
        {
            doc.named("Name"): lambda user: name(user.name),
            "Kind": texts.user_kind,
            "Declared": lambda user: badge("no", Tone.FAIL) if user.declared is False else texts.declared_text(user),
            "Active": lambda user: "yes" if user.active else "no",
            doc.number("Members"): lambda user: display.count(user.members),
            **(lag if title == "Readers" else {}),
            "Last use": lambda user: texts.interval_text(user.last),
            doc.named("Candidates"): texts.principals_text,
            doc.named("Hosts"): lambda user: first_of(user.hosts, 5) or display.NOTHING,
        },
    )
    return doc.Table(*table, title, titled=True, noun=title.lower().removesuffix("s"), most=_MOST_USERS)


def _words(report: UsageReport) -> dict[str, str]:
    """Return the word of each topic by its name: ``undeclared`` before ``idle``, else ``other``."""
    undeclared = {use.topic for use in texts.undeclared(report)}
    idle = {each.name for each in report.removable if each.kind == "topic"}
    return {
        topic.name: "undeclared" if topic.name in undeclared else "idle" if topic.name in idle else "other"
        for topic in report.topics
    }
