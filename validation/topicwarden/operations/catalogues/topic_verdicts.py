"""One verdict for each check of each topic: a catalogue knows no partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report.display import one_line

MOST_TEXT: Final = 1_000
"""The most characters of a message and of a remedy."""


@dataclass(frozen=True)
class TopicVerdict:
    """The worst verdict of a check on a topic, with the messages of its findings on one line."""

    topic: str
    check: str
    verdict: Verdict
    message: str = ""
    remedy: str = ""
    location: str | None = None
    since: int | None = None


def topic_verdicts(report: AuditReport) -> list[TopicVerdict]:
    """Return the verdicts of ``report``, sorted by topic and check."""
    groups: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in report.findings:
        groups[finding.topic, finding.check].append(finding)
    return [_worst(topic, check, groups[topic, check]) for topic, check in sorted(groups)]


def _worst(topic: str, check: str, findings: list[Finding]) -> TopicVerdict:
    verdict = min((finding.verdict for finding in findings), key=WORST_FIRST.index)
    if verdict is Verdict.PASS:
        return TopicVerdict(topic, check, verdict)
    worst = [finding for finding in findings if finding.verdict is verdict]
    location = next((str(finding.location) for finding in worst if finding.location), None)
    since = min((finding.since for finding in worst if finding.since is not None), default=None)
    # The reasons of an undecidable finding are in `because`.
    messages = [finding.message or "; ".join(finding.because) for finding in worst]
    return TopicVerdict(
        topic, check, verdict, _text(messages), _text(finding.remedy for finding in worst), location, since
    )


def _text(texts: Iterable[str]) -> str:
    text = one_line("; ".join(dict.fromkeys(filter(None, texts))))
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
