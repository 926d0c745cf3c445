"""The findings on the HTML page: which are expanded, which are collapsed, and their number by check."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from topicwarden.model.finding import Finding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import AuditDigest, TopicDigest, urgency

MAX_OPEN = 20
"""Number of findings that are expanded at first; the others are collapsed to one line."""
MAX_CARDS = 1_000
"""Number of findings on the page, so that it opens quickly. report.json contains all findings."""


@dataclass(frozen=True)
class FindingCard:
    """A finding with its number on the page, from 1."""

    number: int
    finding: Finding

    @property
    def open(self) -> bool:
        return self.number <= MAX_OPEN


@dataclass(frozen=True)
class CheckRow:
    """The findings of one check by verdict. ``first`` is the number of its worst finding on the page, if any."""

    check: str
    summary: str
    verdicts: Counter[Verdict]
    first: int | None


@dataclass(frozen=True)
class FindingCards:
    """The findings by topic, the worst topic first, and by check.

    ``by_topic`` contains at most ``MAX_CARDS`` findings; ``omitted`` is the number of the others.
    """

    by_topic: list[tuple[TopicDigest, list[FindingCard]]]
    by_check: list[CheckRow]
    omitted: int

    @cached_property
    def by_name(self) -> dict[str, list[FindingCard]]:
        """The findings by topic name."""
        return {topic.name: topic_cards for topic, topic_cards in self.by_topic}


def cards(view: AuditDigest, background: ReportBackground) -> FindingCards:
    """Return the findings in reading order, and the checks by their worst verdict, urgency and number of findings."""
    by_topic: list[tuple[TopicDigest, list[FindingCard]]] = []
    first: dict[str, int] = {}
    verdicts: dict[str, Counter[Verdict]] = {}
    number = 0
    for topic in view.attention:
        topic_cards = []
        for finding in topic.findings:
            number += 1
            verdicts.setdefault(finding.check, Counter())[finding.verdict] += 1
            if number <= MAX_CARDS:
                first.setdefault(finding.check, number)
                topic_cards.append(FindingCard(number, finding))
        if topic_cards:
            by_topic.append((topic, topic_cards))
    rows = [CheckRow(check, background.summary(check), counts, first.get(check)) for check, counts in verdicts.items()]
    rows.sort(
        key=lambda row: (
            min(map(WORST_FIRST.index, row.verdicts)),
            urgency(row.check),
            *(-row.verdicts[verdict] for verdict in WORST_FIRST),
            row.check,
        )
    )
    return FindingCards(by_topic, rows, max(0, number - MAX_CARDS))
