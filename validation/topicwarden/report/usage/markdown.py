"""Write a usage report for pull requests, job summaries and chats, below GitHub's size limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from topicwarden.model.message_text import counted
from topicwarden.model.usage_report import CostShare, TopicUsage, UsageReport
from topicwarden.report import display
from topicwarden.report.plan.markdown import LIMIT, code, plain
from topicwarden.report.usage.digest import (
    AttentionItem,
    cost_notes,
    day,
    digest,
    growth_text,
    marked_names,
    money,
    names,
    recency,
    size_of,
)

MAX_TOPICS: Final = 50
MAX_ITEMS: Final = 20
_MAX_NAMES: Final = 5
_MAX_SHARES: Final = 12
_MAX_TEXT: Final = 240
_RESERVE: Final = 8_000
"""Bytes for headings, and for the lines that report omitted rows."""


def render(report: UsageReport) -> str:
    """Return GitHub-flavoured Markdown: the headline, what needs attention, and tables of topics, owners and domains.

    JSON has the rows that are omitted.
    """
    view = digest(report)
    space = LIMIT - _RESERVE
    lines = [
        f"# Use of the topics of stack {plain(report.stack)}",
        "",
        f"**{plain(view.headline)}**",
        "",
        plain(f"{view.summary}. Observed since {day(report.observed_since)}."),
        "",
    ]
    notes = [f"- {plain(_cut(note))}" for note in (*report.notes, *cost_notes(report.topics))]
    lines += [*_within(notes, space // 8), ""] if notes else []
    if view.attention:
        items = [_item(item) for item in view.attention]
        lines += ["## Needs attention", "", *_within(items[:MAX_ITEMS], space // 3, len(items)), ""]
    if report.topics:
        heads = ["Topic", "Owner", "Replicas", "Tiered", "Per day", *_price(report), "Written", "Read", "Readers"]
        rows = [_row(topic, report) for topic in report.topics[:MAX_TOPICS]]
        lines += ["## Topics", "", *_head(heads, "Replicas", "Tiered", "Per day", *_price(report))]
        lines += [*_within(rows, space // 3, len(report.topics)), ""]
    for title, shares in (("Owner", report.owners), ("Domain", report.domains)):
        if any(share.name for share in shares):
            lines += [*_head([title, "Topics", "Replicas", *_price(report)], "Topics", "Replicas", *_price(report))]
            lines += [*_within([_share(share, report) for share in shares[:_MAX_SHARES]], space // 12, len(shares)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _item(item: AttentionItem) -> str:
    location = f" {code(item.location)}" if item.location else ""
    steps = "".join(f"<br>{number}. {plain(_cut(step))}" for number, step in enumerate(item.steps, start=1))
    return f"- **{item.word}** {code(_cut(item.subject))}: {plain(_cut(item.message))}{location}{steps}"


def _row(topic: TopicUsage, report: UsageReport) -> str:
    cells = [
        code(topic.name),
        plain(_cut(topic.owner)),
        display.size(topic.replica_bytes),
        display.size(topic.tiered_bytes),
        growth_text(topic.growth.replica_bytes_per_day if topic.growth else None),
        *([] if report.currency is None else [money(topic.cost.per_month if topic.cost else None)]),
        recency(topic.last_written, report.taken_at),
        recency(topic.last_read, report.taken_at),
        plain(_cut(names(marked_names(topic.readers), _MAX_NAMES))),
    ]
    return f"| {' | '.join(cells)} |"


def _share(share: CostShare, report: UsageReport) -> str:
    cells = [plain(_cut(share.name)) or "(none)", display.count(share.topics), size_of(share)]
    cells += [] if report.currency is None else [money(share.cost_per_month)]
    return f"| {' | '.join(cells)} |"


def _price(report: UsageReport) -> list[str]:
    return [] if report.currency is None else [f"{plain(report.currency)}/month"]


def _head(heads: Sequence[str], *numbers: str) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join('--:' if head in numbers else '---' for head in heads)}|"


def _within(rows: Iterable[str], space: int, total: int | None = None) -> list[str]:
    """Return the first rows that have at most ``space`` bytes together, and a line with the number of the others."""
    every = list(rows)
    kept: list[str] = []
    for row in every:
        space -= len(row.encode()) + 1
        if space < 0:
            break
        kept.append(row)
    omitted = (len(every) if total is None else total) - len(kept)
    return [*kept, *(["", f"And {counted(omitted, 'row')} more; the JSON has all."] if omitted else [])]


def _cut(text: str) -> str:
    shown = display.one_line(text)
    return shown if len(shown) <= _MAX_TEXT else f"{shown[: _MAX_TEXT - 1]}…"
