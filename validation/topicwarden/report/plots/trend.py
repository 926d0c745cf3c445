"""The bars of topics by verdict: a column for each audit, and a bar for each domain or owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from topicwarden.model.finding import PastAudit
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.markup import Markup, tag

_LABEL: Final = "Topics by verdict, one column per audit; the same numbers are in the table below"


def trend(audits: Sequence[PastAudit]) -> Markup:
    """Return a column for each audit, the latest one last. Its height is its number of topics."""
    most = max(sum(each.topics.values()) for each in audits) or 1
    columns = (tag("span", *_parts(audit.topics, most, "height", WORST_FIRST)) for audit in audits)
    ends = (tag("span", display.timestamp(each.started)) for each in (audits[0], audits[-1]))
    drawn = tag("div", *columns, class_="trend", role="img", aria_label=_LABEL)
    width = f"max-width:max(20rem, {len(audits) * 4.5}rem)"
    return tag("div", drawn, tag("p", *ends, class_="ends"), class_="history", style=width)


def bar(topics: Mapping[Verdict, int]) -> Markup:
    """Return a bar of the shares of verdicts, the passes first."""
    parts = _parts(topics, sum(topics.values()), "width", WORST_FIRST[::-1])
    return tag("span", *parts, class_="bar", aria_hidden="true")


def _parts(topics: Mapping[Verdict, int], whole: int, side: str, order: Sequence[Verdict]) -> list[Markup]:
    return [
        tag("i", class_=verdict.value, style=f"{side}:{100 * topics[verdict] / whole:.2f}%")
        for verdict in order
        if topics.get(verdict)
    ]
