"""``report.html``: one file that needs nothing else, for a browser, a screen reader or a printer."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from topicwarden.model.finding import AuditReport, PartitionerFacts, PastAudit, TopicFacts
from topicwarden.model.verdict import BY_WEIGHT, Verdict
from topicwarden.report import display
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.cards import cards
from topicwarden.report.audit.digest import SYMBOLS, AuditDigest, TopicDigest, digest, time_span
from topicwarden.report.audit.figures import figures
from topicwarden.report.audit.timeline import LEGEND, Timeline, timeline

# Partitions that a page bears one by one before it is slow to open; the rest are in report.json.
PARTITIONS = 800
GROUPS = 12
"""Domains and owners that are shown one by one."""
AUDITS = 30
"""Audits that the trend shows."""
SETTLED = 500
"""Outcomes of the last audit's suspects that are shown."""
NOTED = 200
"""Topics whose lawful oddities are explained."""


def render(report: AuditReport, background: ReportBackground | None = None) -> str:
    """The whole page. It asks the network for nothing; its one script filters, and all can be read without."""
    view = digest(report)
    script = resources.files("topicwarden.report.audit").joinpath("report.js").read_text(encoding="utf-8")
    now = PastAudit(started=report.started, topics=dict(_verdicts(view)))
    return _ENVIRONMENT.get_template("report.html.j2").render(
        view=view,
        report=report,
        weights=BY_WEIGHT,
        symbols=SYMBOLS,
        cards=cards(view, background or ReportBackground()),
        figures=figures(view),
        groups=[("Domain", view.domains), ("Owner", view.owners)],
        shown_groups=GROUPS,
        audits=[*report.trend[-AUDITS + 1 :], now] if report.trend else [],
        lines=_lines(view),
        legend=LEGEND,
        settled_shown=SETTLED,
        noted_shown=NOTED,
        time_span=time_span,
        anchors={topic.name: f"topic-{number}" for number, topic in enumerate(view.topics, start=1)},
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


def _verdicts(view: AuditDigest) -> dict[Verdict, int]:
    return {verdict: sum(topic.verdict is verdict for topic in view.topics) for verdict in BY_WEIGHT}


def _lines(view: AuditDigest) -> dict[str, list[Timeline]]:
    """The topics whose partitions are shown one by one, worst first, as many as the page bears; with their lines."""
    left, chosen = PARTITIONS, {}
    for topic in view.topics:
        partitions = sorted(topic.facts.partitions, key=lambda each: each.partition) if topic.facts else []
        if len(partitions) <= left:
            drawn = (timeline(each, topic.findings) for each in partitions)
            chosen[topic.name] = [line for line in drawn if line is not None]
            left -= len(partitions)
    return chosen


def _share(records: int | None, topic: TopicDigest) -> str:
    facts = topic.facts
    if facts is None or not facts.records or records is None:
        return display.NOTHING
    return display.times(records * len(facts.partitions) / facts.records)


def _hottest(facts: TopicFacts) -> str:
    """The key with most records, by its share, partition and offset; empty where keys were not counted."""
    held = [partition for partition in facts.partitions if partition.hottest]
    if not held or not facts.records:
        return ""
    most = max(held, key=lambda partition: partition.hottest or 0)
    first = "" if most.hottest_offset is None else f", first at offset {most.hottest_offset:,}"
    return f"{(most.hottest or 0) / facts.records:.1%} of the records, in partition {most.partition}{first}"


def _partitioner(facts: PartitionerFacts) -> str:
    names = f": {' and '.join(facts.algorithms)}" if facts.algorithms else ""
    grown = f", over {', then '.join(map(str, facts.counts))} partitions" if len(facts.counts) > 1 else ""
    scores = sorted(facts.scores.items(), key=lambda score: (-score[1], score[0]))
    explained = ", ".join(f"{name} {share:.1%}" for name, share in scores)
    return f"{facts.conclusion}{names}{grown}; of {facts.keys:,} keys lie where it puts them today: {explained}"


def _find(topic: TopicDigest) -> str:
    """What the page's filter looks in; the bars let it look for a whole name."""
    checks = sorted({finding.check for finding in topic.findings})
    return display.one_line(f"|{'|'.join([topic.name, topic.domain, topic.owner, *checks])}|").lower()


def _shown(value: Any) -> Any:
    return display.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("topicwarden.report.audit", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": display.count,
        "size": display.size,
        "duration": display.duration,
        "moment": display.moment,
        "times": display.times,
        "numbers": display.numbers,
        "hottest": _hottest,
        "partitioner": _partitioner,
        "find": _find,
        "sum_of": lambda topics: sum(topics.values()),
    }
    environment.globals |= {"age": display.age, "evidence": display.evidence, "span": display.span, "share": _share}
    return environment


_ENVIRONMENT = _environment()
