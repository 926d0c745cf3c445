"""Write ``report.html``: one file without external resources, for browsers, screen readers and printers."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment

from topicwarden.model.finding import AuditReport, PartitionerFacts, PastAudit, TopicFacts
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.cards import cards
from topicwarden.report.audit.digest import NEXT_STEP, SYMBOLS, AuditDigest, TopicDigest, age_of, digest, time_span
from topicwarden.report.audit.figures import figures
from topicwarden.report.audit.timeline import LEGEND, Timeline, timeline
from topicwarden.report.page import filter_script
from topicwarden.report.page_environment import page_environment

MAX_DETAILED = 100
"""Number of topics with details, so that the page opens quickly. report.json contains the details of all topics."""
MAX_PARTITIONS = 200
"""Number of partitions on the page. report.json contains all partitions."""
MAX_GROUPS = 12
"""Number of domains and owners in the tables."""
MAX_AUDITS = 30
"""Number of audits in the trend."""
MAX_SETTLED = 500
"""Number of findings of the previous audit that are shown with their verdict now."""
MAX_NOTED = 200
"""Number of topics whose notes are shown."""


def render(report: AuditReport, background: ReportBackground | None = None) -> str:
    """Return the whole page. It sends no network requests, and only its filter needs JavaScript."""
    view = digest(report)
    detailed = {topic.name: topic for topic in [each for each in view.topics if each.facts][:MAX_DETAILED]}
    script, script_hash = filter_script()
    now = PastAudit(started=report.started, topics=dict(_verdicts(view)))
    return _ENVIRONMENT.get_template("report.html.j2").render(
        view=view,
        next_step=NEXT_STEP,
        report=report,
        worst_first=WORST_FIRST,
        symbols=SYMBOLS,
        cards=cards(view, background or ReportBackground()),
        background=background or ReportBackground(),
        age_of=age_of,
        figures=figures(view),
        groups=[("Domain", view.domains), ("Owner", view.owners)],
        shown_groups=MAX_GROUPS,
        audits=[*report.trend[-MAX_AUDITS + 1 :], now] if report.trend else [],
        detailed=detailed,
        timelines=_timelines(detailed),
        legend=LEGEND,
        settled_shown=MAX_SETTLED,
        noted_shown=MAX_NOTED,
        time_span=time_span,
        anchors={topic.name: f"topic-{number}" for number, topic in enumerate(view.topics, start=1)},
        script=script,
        script_hash=script_hash,
    )


def _verdicts(view: AuditDigest) -> dict[Verdict, int]:
    return {verdict: sum(topic.verdict is verdict for topic in view.of_topics) for verdict in WORST_FIRST}


def _timelines(topics: Mapping[str, TopicDigest]) -> dict[str, list[Timeline]]:
    """Return the timelines of the partitions by topic name, for the first topics up to ``MAX_PARTITIONS``."""
    remaining, selected = MAX_PARTITIONS, {}
    for topic in topics.values():
        partitions = sorted(topic.facts.partitions, key=lambda each: each.partition) if topic.facts else []
        if len(partitions) <= remaining:
            timelines = (timeline(each, topic.findings) for each in partitions)
            selected[topic.name] = [each for each in timelines if each is not None]
            remaining -= len(partitions)
    return selected


def _share(records: int | None, topic: TopicDigest) -> str:
    """Return a partition's ``records`` as a multiple of the topic's mean."""
    facts = topic.facts
    if facts is None or not facts.records or records is None:
        return display.NOTHING
    return display.multiple(records * len(facts.partitions) / facts.records)


def _hottest(facts: TopicFacts) -> str:
    """Return the share, the partition and the offset of the most frequent key; empty if keys were not counted."""
    counted = [partition for partition in facts.partitions if partition.hottest]
    if not counted or not facts.records:
        return ""
    hottest = max(counted, key=lambda partition: partition.hottest or 0)
    first = "" if hottest.hottest_offset is None else f", first at offset {hottest.hottest_offset:,}"
    return f"{(hottest.hottest or 0) / facts.records:.1%} of the records, in partition {hottest.partition}{first}"


def _partitioner(facts: PartitionerFacts) -> str:
    """Return the conclusion on the producers' partitioner, and the share of keys that each candidate explains."""
    names = f": {' and '.join(facts.algorithms)}" if facts.algorithms else ""
    scores = sorted(facts.scores.items(), key=lambda score: (-score[1], score[0]))
    explained = ", ".join(f"{name} {share:.1%}" for name, share in scores)
    return f"{facts.conclusion}{names}; keys explained (of {facts.keys:,}): {explained}"


def _search_text(topic: TopicDigest) -> str:
    """Return the text in which the page's filter searches. Bars separate the names, for searches of a whole name."""
    checks = sorted({finding.check for finding in topic.findings})
    return display.one_line(f"|{'|'.join([topic.name, topic.domain, topic.owner, *checks])}|").lower()


def _environment() -> Environment:
    environment = page_environment("topicwarden.report.audit")
    environment.filters |= {
        "hottest": _hottest,
        "partitioner": _partitioner,
        "search_text": _search_text,
        "sum_of_values": lambda topics: sum(topics.values()),
    }
    environment.globals |= {"age": display.age, "evidence": display.evidence, "span": display.span, "share": _share}
    return environment


_ENVIRONMENT = _environment()
