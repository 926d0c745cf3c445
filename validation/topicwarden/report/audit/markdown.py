"""Write ``report.md`` for pull requests, job summaries and chats."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.model.finding import AuditReport, Finding, PastAudit, SettledFinding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.audit.digest import NEXT_STEP, SYMBOLS, FindingGroup, TopicDigest, digest, time_span
from topicwarden.report.markdown import code, plain, prose


def render(report: AuditReport) -> str:
    """Return GitHub-flavoured Markdown: the headline, the limits, tables of topics, and collapsed findings."""
    view = digest(report)
    lines = [
        f"# {view.title[0]} {plain(view.title[1])}",
        "",
        f"**{plain(view.headline)}**",
        "",
        plain(view.summary),
        "",
        f"Started {display.timestamp(report.started)}, cluster {plain(report.cluster_id or 'unknown')}, "
        f"topicwarden {plain(report.topicwarden)}.",
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
            lines += [f"### {plain(name)}", ""]
            for finding in findings:
                lines += _finding(finding)
    if view.next_step:
        lines += [f"{NEXT_STEP}", "", f"    {view.next_step}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(topics: list[TopicDigest]) -> Iterator[str]:
    if not topics:
        return
    yield "| Verdict | Topic | Partitions | Records | Payload | On disk | Timestamps (UTC) | Skew |"
    yield "|---|---|--:|--:|--:|--:|---|--:|"
    for topic in topics:
        facts = topic.facts
        assert facts is not None
        name = plain(topic.name) + (f" ({topic.absence})" if topic.absence else "")
        cells = (
            f"{plain(SYMBOLS[topic.verdict])} {topic.verdict.value}",
            name,
            display.count(len(facts.partitions)),
            display.count(facts.records),
            display.size(facts.payload_bytes),
            display.size(facts.log_bytes),
            display.span(*time_span(facts)),
            display.multiple(facts.skew),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _limits(limits: list[str]) -> Iterator[str]:
    for limit in limits:
        yield f"- {prose(limit)}"
    if limits:
        yield ""


def _trend(trend: list[PastAudit]) -> Iterator[str]:
    if trend:
        last = trend[-1]
        passed, topics = last.topics.get(Verdict.PASS, 0), sum(last.topics.values())
        yield f"At the audit of {display.timestamp(last.started)}, {passed:,} of {topics:,} topics passed."
        yield ""


def _groups(title: str, groups: list[FindingGroup]) -> Iterator[str]:
    if not any(group.name for group in groups):
        return
    yield f"| {title.capitalize()} | Topics | {' | '.join(verdict.value for verdict in WORST_FIRST)} |"
    yield f"|---|--:|{'--:|' * len(WORST_FIRST)}"
    for group in groups:
        counts = " | ".join(display.count(group.verdicts[verdict]) for verdict in WORST_FIRST)
        yield f"| {plain(group.name) or '(none)'} | {display.count(group.topics)} | {counts} |"
    yield ""


def _settled(settled: list[SettledFinding]) -> Iterator[str]:
    if not settled:
        return
    yield "## Since the last audit"
    yield ""
    for each in settled:
        partitions = f" \\[{display.ranges(each.partitions)}\\]" if each.partitions else ""
        yield (
            f"- {plain(each.check)} {plain(each.topic)}{partitions}: {each.was.value}, now **{each.now.value}**: "
            f"{plain(each.why)} (first seen {display.timestamp(each.since)})"
        )
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    word = "note" if finding.verdict is Verdict.PASS else finding.verdict.value
    partitions = f" [{display.ranges(finding.partitions)}]" if finding.partitions else ""
    message = prose(finding.message or "no message")
    yield (
        f"<details><summary>{SYMBOLS[finding.verdict]} <b>{word}</b>"
        f" {code(finding.check)}{partitions}: {message}</summary>"
    )
    yield ""
    for reason in finding.because:
        yield f"- because {prose(reason)}"
    for name, value in finding.evidence.items():
        yield f"- {plain(name)}: {plain(display.evidence(name, value))}"
    if finding.remedy:
        yield f"- **remedy**: {prose(finding.remedy)}"
    if finding.location:
        yield f"- declared at {plain(str(finding.location))}"
    yield ""
    yield "</details>"
    yield ""
