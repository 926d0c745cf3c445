"""What every format says alike: findings by topic, worst first, and the report in one sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from topicwarden.finding import BY_WEIGHT, AuditReport, Finding, TopicFacts, Verdict
from topicwarden.report import units

SYMBOLS = {Verdict.FAIL: "✗", Verdict.SUSPECT: "!", Verdict.UNDECIDABLE: "?", Verdict.PASS: "✓"}


@dataclass(frozen=True)
class TopicDigest:
    """One topic and what was found on it; ``facts`` is None where only a finding names the topic."""

    name: str
    facts: TopicFacts | None
    verdict: Verdict
    findings: list[Finding]
    """All that is not a pass, worst first."""
    notes: list[Finding]
    """Passes that have something to explain."""
    passed: list[str]
    """The checks that plainly passed, sorted."""

    @property
    def standing(self) -> str:
        """How declared and live differ in being there at all; empty where they do not."""
        if self.facts is None or (self.facts.declared and self.facts.partitions):
            return ""
        return "not on the cluster" if self.facts.declared else "not declared"


@dataclass(frozen=True)
class Digest:
    """A report, put in the order in which it is read."""

    report: AuditReport
    topics: list[TopicDigest]
    """Worst first, then by name; also names that only a finding knows."""
    counts: Counter[Verdict]

    @property
    def attention(self) -> list[TopicDigest]:
        """The topics with anything other than passes."""
        return [topic for topic in self.topics if topic.findings]

    @property
    def noted(self) -> list[TopicDigest]:
        return [topic for topic in self.topics if topic.notes]

    @property
    def summary(self) -> str:
        """The counts in one line, as a terminal's last one."""
        report = self.report
        verdicts = ", ".join(f"{self.counts[verdict]:,} {verdict.value}" for verdict in BY_WEIGHT)
        return (
            f"{_plural(len(self.topics), 'topic')}, {_plural(report.scanned_records, 'record')}"
            f" in {units.duration(report.scan_seconds * 1000)}: {verdicts}"
        )

    @property
    def headline(self) -> str:
        """One plain sentence for those who do not run the cluster."""
        total = len(self.topics)
        if not total:
            return "No topics were audited."
        verdicts = Counter(topic.verdict for topic in self.topics)
        sound = verdicts[Verdict.PASS]
        if sound == total:
            return (
                "The topic holds what was declared." if total == 1 else f"All {total:,} topics hold what was declared."
            )
        wanting, unsettled = verdicts[Verdict.FAIL] + verdicts[Verdict.SUSPECT], verdicts[Verdict.UNDECIDABLE]
        parts = [
            f"{sound:,} of {_plural(total, 'topic')} {'holds' if 1 in (sound, total) else 'hold'} what was declared"
        ]
        if wanting:
            parts.append(f"{wanting:,} {'needs' if wanting == 1 else 'need'} attention")
        if unsettled:
            parts.append(f"{unsettled:,} could not be settled")
        return "; ".join(parts) + "."


def digest(report: AuditReport) -> Digest:
    """Groups and orders a report's findings once, for all formats."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        found[finding.topic].append(finding)
    facts = {topic.name: topic for topic in report.topics}
    topics = [_topic(name, facts.get(name), found.get(name, [])) for name in {**facts, **found}]
    topics.sort(key=lambda topic: (BY_WEIGHT.index(topic.verdict), topic.name))
    return Digest(report, topics, report.counts())


def time_span(topic: TopicFacts) -> tuple[int | None, int | None]:
    """The earliest and latest record's timestamp over all partitions; None where nothing was read."""
    firsts = [p.first_timestamp for p in topic.partitions if p.first_timestamp is not None]
    lasts = [p.last_timestamp for p in topic.partitions if p.last_timestamp is not None]
    return min(firsts, default=None), max(lasts, default=None)


def _topic(name: str, facts: TopicFacts | None, findings: list[Finding]) -> TopicDigest:
    ordered = sorted(findings, key=lambda f: (BY_WEIGHT.index(f.verdict), f.check, f.partitions, f.message))
    return TopicDigest(
        name=name,
        facts=facts,
        verdict=ordered[0].verdict if ordered else Verdict.PASS,
        findings=[finding for finding in ordered if finding.verdict is not Verdict.PASS],
        notes=[finding for finding in ordered if finding.verdict is Verdict.PASS and finding.message],
        passed=sorted({f.check for f in ordered if f.verdict is Verdict.PASS and not f.message}),
    )


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
