"""``report.md``: a report for pull requests, job summaries and chats."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from topicwarden.model.finding import AuditReport, Finding, PastAudit, SettledFinding
from topicwarden.model.verdict import BY_WEIGHT, Verdict
from topicwarden.report import display
from topicwarden.report.audit.digest import SYMBOLS, FindingGroup, TopicDigest, digest, time_span

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$])")


def render(report: AuditReport) -> str:
    """GitHub-flavoured Markdown: the outcome and its limits, tables of topics, each finding folded; worst first."""
    view = digest(report)
    lines = [
        f"# Audit of stack {_escape(report.stack)}",
        "",
        f"**{_escape(view.headline)}**",
        "",
        _escape(view.summary),
        "",
        f"Started {display.moment(report.started)}, cluster {_escape(report.cluster_id or 'unknown')}, "
        f"topicwarden {_escape(report.topicwarden)}.",
        "",
        *_limits(view.limits),
        *_trend(report.trend),
        *_table([topic for topic in view.topics if topic.facts]),
        *_groups("domain", view.domains),
        *_groups("owner", view.owners),
        *_settled(view.settled),
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
            display.count(len(facts.partitions)),
            display.count(facts.records),
            display.size(facts.payload_bytes),
            display.size(facts.log_bytes),
            display.span(*time_span(facts)),
            display.times(facts.skew),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _limits(limits: list[str]) -> Iterator[str]:
    for limit in limits:
        yield f"- {_escape(limit)}"
    if limits:
        yield ""


def _trend(trend: list[PastAudit]) -> Iterator[str]:
    if trend:
        last = trend[-1]
        held, topics = last.topics.get(Verdict.PASS, 0), sum(last.topics.values())
        yield f"At the audit of {display.moment(last.started)}, {held:,} of {topics:,} topics held."
        yield ""


def _groups(title: str, groups: list[FindingGroup]) -> Iterator[str]:
    if not any(group.name for group in groups):
        return
    yield f"| {title.capitalize()} | Topics | {' | '.join(verdict.value for verdict in BY_WEIGHT)} |"
    yield f"|---|--:|{'--:|' * len(BY_WEIGHT)}"
    for group in groups:
        counts = " | ".join(display.count(group.verdicts[verdict]) for verdict in BY_WEIGHT)
        yield f"| {_escape(group.name) or 'none named'} | {display.count(group.topics)} | {counts} |"
    yield ""


def _settled(settled: list[SettledFinding]) -> Iterator[str]:
    if not settled:
        return
    yield "## Since the last audit"
    yield ""
    for one in settled:
        where = f" \\[{display.numbers(one.partitions)}\\]" if one.partitions else ""
        yield (
            f"- {_escape(one.check)} {_escape(one.topic)}{where}: {one.was.value}, now **{one.now.value}**: "
            f"{_escape(one.why)} (first seen {display.moment(one.since)})"
        )
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    word = "note" if finding.verdict is Verdict.PASS else finding.verdict.value
    where = f" [{display.numbers(finding.partitions)}]" if finding.partitions else ""
    message = _raw(finding.message or "no message")
    # A summary is an HTML block: Markdown's own signs mean nothing in it, so only HTML's are escaped.
    yield (
        f"<details><summary>{SYMBOLS[finding.verdict]} <b>{word}</b>"
        f" <code>{_raw(finding.check)}</code>{where}: {message}</summary>"
    )
    yield ""
    for reason in finding.because:
        yield f"- because {_escape(reason)}"
    for name, value in finding.evidence.items():
        yield f"- {_escape(name)}: {_escape(display.evidence(name, value))}"
    if finding.remedy:
        yield f"- **remedy** {_escape(finding.remedy)}"
    if finding.place:
        yield f"- declared at {_escape(str(finding.place))}"
    yield ""
    yield "</details>"
    yield ""


def _escape(text: str) -> str:
    """One line of Markdown that shows ``text`` as it is, also within a table."""
    return _SPECIAL.sub(r"\\\1", _raw(text))


def _raw(text: str) -> str:
    return html.escape(display.one_line(text), quote=False)
