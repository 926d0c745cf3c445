"""``report.md``: a report for pull requests, job summaries and chats."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from topicwarden.finding import AuditReport, Finding, Verdict
from topicwarden.report import units
from topicwarden.report.digest import SYMBOLS, TopicDigest, digest, time_span

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$])")


def render(report: AuditReport) -> str:
    """GitHub-flavoured Markdown: the outcome, a table of topics, and each finding folded; worst first."""
    view = digest(report)
    lines = [
        f"# Audit of stack {_escape(report.stack)}",
        "",
        f"**{_escape(view.headline)}**",
        "",
        _escape(view.summary),
        "",
        f"Started {units.moment(report.started)}, cluster {_escape(report.cluster_id or 'unknown')}, "
        f"topicwarden {_escape(report.topicwarden)}.",
        "",
        *_table([topic for topic in view.topics if topic.facts]),
    ]
    for heading, groups in (
        ("Needs attention", [(topic.name, topic.findings) for topic in view.attention]),
        ("Notes", [(topic.name, topic.notes) for topic in view.noted]),
    ):
        if groups:
            lines += [f"## {heading}", ""]
        for name, findings in groups:
            lines += [f"### {_escape(name)}", ""]
            for finding in findings:
                lines += _finding(finding)
    return "\n".join(lines).rstrip() + "\n"


def _table(topics: list[TopicDigest]) -> Iterator[str]:
    if not topics:
        return
    yield "| Verdict | Topic | Partitions | Records | Payload | On disk | From – to (UTC) | Skew |"
    yield "|---|---|--:|--:|--:|--:|---|--:|"
    for topic in topics:
        facts = topic.facts
        assert facts is not None
        name = _escape(topic.name) + (f" ({topic.standing})" if topic.standing else "")
        cells = (
            f"{_escape(SYMBOLS[topic.verdict])} {topic.verdict.value}",
            name,
            units.count(len(facts.partitions)),
            units.count(facts.records),
            units.size(facts.payload_bytes),
            units.size(facts.log_bytes),
            units.span(*time_span(facts)),
            units.times(facts.skew),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    word = "note" if finding.verdict is Verdict.PASS else finding.verdict.value
    where = f" [{units.numbers(finding.partitions)}]" if finding.partitions else ""
    message = _raw(finding.message or "no message")
    # A summary is an HTML block: Markdown's own signs mean nothing in it, so only HTML's are escaped.
    yield (
        f"<details><summary>{SYMBOLS[finding.verdict]} <b>{word}</b>"
        f" <code>{_raw(finding.check)}</code>{where}: {message}</summary>"
    )
    yield ""
    for reason in finding.because:
        yield f"- because {_escape(reason)}"
    if finding.remedy:
        yield f"- **remedy** {_escape(finding.remedy)}"
    for name, value in finding.evidence.items():
        yield f"- {_escape(name)}: {_escape(units.evidence(name, value))}"
    if finding.place:
        yield f"- declared at {_escape(str(finding.place))}"
    yield ""
    yield "</details>"
    yield ""


def _escape(text: str) -> str:
    """One line of Markdown that shows ``text`` as it is, also within a table."""
    return _SPECIAL.sub(r"\\\1", _raw(text))


def _raw(text: str) -> str:
    return html.escape(units.one_line(text), quote=False)
