"""Print a usage report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicwarden.model.message_text import counted
from topicwarden.model.usage_report import CostShare, TopicUsage, UsageReport
from topicwarden.report import display
from topicwarden.report.fixed_width_table import FixedWidthTable
from topicwarden.report.line_printer import LinePrinter, width_of
from topicwarden.report.usage.digest import (
    AttentionItem,
    UsageDigest,
    cost_notes,
    digest,
    growth_text,
    marked_names,
    money,
    names,
    recency,
    size_of,
)

_WIDE: Final = 130
_LABEL: Final = 12
MAX_TOPICS: Final = 20
MAX_ITEMS: Final = 10
"""Number of items that need attention that are printed for each word; the others are counted."""
_MAX_NAMES: Final = 4
_MAX_SHARES: Final = 8
_ASCII: Final = str.maketrans({"–": "-", "×": "x"})
_STYLES: Final = {"undeclared": "bold red", "idle": "yellow", "unused": "yellow"}


def render(report: UsageReport, console: Console) -> None:
    """Print what needs attention, the most expensive topics, owners and domains, limits, and a summary line.

    If ``console`` is not a terminal, the text has at least 120 columns.
    """
    _UsagePrinter(console).print(digest(report))


class _UsagePrinter(LinePrinter):
    def __init__(self, console: Console) -> None:
        super().__init__(console, width_of(console), _LABEL, _ASCII, ascii_only=console.options.ascii_only)

    def print(self, view: UsageDigest) -> None:
        report = view.report
        self._wrapped(self._text(view.headline, "bold"))
        self._attention(view.attention)
        if report.topics:
            self._print(Text())
            self._console.print(FixedWidthTable(self._table(report), self._width), crop=False, highlight=False)
            self._rest(report.topics[MAX_TOPICS:], report)
            self._users(report.topics[:MAX_TOPICS])
        for title, shares in (("owner", report.owners), ("domain", report.domains)):
            if len(shares) > 1 or any(share.name for share in shares):
                self._print(Text())
                table = self._shares(title, shares[:_MAX_SHARES], report)
                self._console.print(FixedWidthTable(table, min(self._width, 100)), crop=False, highlight=False)
                if more := shares[_MAX_SHARES:]:
                    self._wrapped(self._text(f"and {counted(len(more), title)} more", "dim"))
        notes = [*report.notes, *cost_notes(report.topics)]
        if notes:
            self._print(Text())
        for note in notes:
            self._wrapped(Text(" ").join([Text("limit", style="yellow"), self._text(note)]))
        self._print(Text())
        self._print(self._text(view.summary, "bold"))

    def _attention(self, items: Sequence[AttentionItem]) -> None:
        for word in dict.fromkeys(item.word for item in items):
            same = [item for item in items if item.word == word]
            for item in same[:MAX_ITEMS]:
                self._print(Text())
                self._item(item)
            if len(same) > MAX_ITEMS:
                self._print(Text())
                self._wrapped(
                    Text(" ").join(
                        [self._word(word), self._text(f"and {len(same) - MAX_ITEMS:,} more; --format json has all")]
                    )
                )

    def _item(self, item: AttentionItem) -> None:
        subject = self._text(f"{item.subject}:", "bold")
        self._wrapped(Text(" ").join([self._word(item.word), subject, self._text(item.message)]))
        for step in item.steps:
            self._labelled("remedy", step)
        if item.location:
            self._located(item.location)

    def _table(self, report: UsageReport) -> Table:
        wide, priced = self._width >= _WIDE, report.currency is not None
        table = Table(box=box.SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("topic", ratio=1, overflow="fold")
        if wide:
            table.add_column("owner", max_width=24, overflow="fold")
        numbers = ("replicas", *(("tiered",) if wide else ()), "per day", *((self._price(report),) if priced else ()))
        for heading in numbers:
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("written", no_wrap=True)
        table.add_column("read", no_wrap=True)
        for topic in report.topics[:MAX_TOPICS]:
            table.add_row(*self._row(topic, report, wide))
        return table

    def _row(self, topic: TopicUsage, report: UsageReport, wide: bool) -> list[Text]:
        return [
            self._text(topic.name),
            *([self._text(topic.owner)] if wide else []),
            self._text(display.size(topic.replica_bytes)),
            *([self._text(display.size(topic.tiered_bytes))] if wide else []),
            self._text(growth_text(topic.growth.replica_bytes_per_day if topic.growth else None)),
            *([] if report.currency is None else [self._text(money(topic.cost.per_month if topic.cost else None))]),
            self._text(recency(topic.last_written, report.taken_at)),
            self._text(recency(topic.last_read, report.taken_at)),
        ]

    def _price(self, report: UsageReport) -> str:
        return f"{self._text(report.currency or '').plain}/month"

    def _users(self, topics: Sequence[TopicUsage]) -> None:
        for topic in topics:
            lines = [(verb, users) for verb, users in (("written", topic.writers), ("read", topic.readers)) if users]
            if lines:
                self._print(Text())
                self._wrapped(self._text(topic.name, "bold"))
            for verb, users in lines:
                self._labelled(f"{verb} by", names(marked_names(users), _MAX_NAMES))

    def _rest(self, topics: Sequence[TopicUsage], report: UsageReport) -> None:
        if not topics:
            return
        known = sum(topic.replica_bytes or 0 for topic in topics)
        parts = [
            f"{len(topics):,} more {'topic' if len(topics) == 1 else 'topics'}",
            f"{display.size(known)} on all replicas",
        ]
        if report.currency is not None:
            costs = sum((topic.cost.per_month or 0) if topic.cost else 0 for topic in topics)
            parts.append(f"{money(costs)} {report.currency} per month")
        self._wrapped(self._text(f"and {', '.join(parts)}; --format json and the files of --out have all", "dim"))

    def _shares(self, title: str, shares: Sequence[CostShare], report: UsageReport) -> Table:
        table = Table(box=box.SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column(title, ratio=1, overflow="fold")
        for heading in ("topics", "replicas", *((self._price(report),) if report.currency is not None else ())):
            table.add_column(heading, justify="right", no_wrap=True)
        for share in shares:
            cost = [] if report.currency is None else [self._text(money(share.cost_per_month))]
            table.add_row(
                self._text(share.name) if share.name else Text("(none)", style="dim"),
                self._text(display.count(share.topics)),
                self._text(size_of(share)),
                *cost,
            )
        return table

    def _word(self, word: str) -> Text:
        return Text(word, style=_STYLES[word.rstrip("?")])
