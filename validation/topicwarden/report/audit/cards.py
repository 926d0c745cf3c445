"""The findings of a page: which are open at first, which are folded, and each check's share of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from topicwarden.model.finding import Finding
from topicwarden.model.verdict import Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import AuditDigest, TopicDigest

OPEN = 20
"""Findings that are open at first; the others are one line each, and open when asked."""
MOST = 1_000
"""Findings that a page bears; the rest are in report.json."""


@dataclass(frozen=True)
class FindingCard:
    """A finding with its place in the page."""

    number: int
    finding: Finding

    @property
    def open(self) -> bool:
        return self.number <= OPEN


@dataclass(frozen=True)
class CheckRow:
    """What one check found in all topics; ``first`` is the worst finding's number in the page, if it is there."""

    check: str
    summary: str
    verdicts: Counter[Verdict]
    first: int | None


@dataclass(frozen=True)
class FindingCards:
    """All findings, worst topic first; ``by_topic`` leaves out those beyond ``MOST``, which ``left_out`` counts."""

    by_topic: list[tuple[TopicDigest, list[FindingCard]]]
    by_check: list[CheckRow]
    left_out: int

    @cached_property
    def of(self) -> dict[str, list[FindingCard]]:
        """By the topic's name."""
        return {topic.name: held for topic, held in self.by_topic}


def cards(view: AuditDigest, background: ReportBackground) -> FindingCards:
    """The findings in the order in which they are read, and the checks with most fails first."""
    by_topic: list[tuple[TopicDigest, list[FindingCard]]] = []
    first: dict[str, int] = {}
    verdicts: dict[str, Counter[Verdict]] = {}
    number = 0
    for topic in view.attention:
        held = []
        for finding in topic.findings:
            number += 1
            verdicts.setdefault(finding.check, Counter())[finding.verdict] += 1
            if number <= MOST:
                first.setdefault(finding.check, number)
                held.append(FindingCard(number, finding))
        if held:
            by_topic.append((topic, held))
    rows = [CheckRow(check, background.summary(check), found, first.get(check)) for check, found in verdicts.items()]
    rows.sort(key=lambda row: (-row.verdicts[Verdict.FAIL], -row.verdicts[Verdict.SUSPECT], row.check))
    return FindingCards(by_topic, rows, max(0, number - MOST))
