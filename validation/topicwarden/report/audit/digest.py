"""What every format says alike: findings by topic, worst first, and the report in one sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from topicwarden.model.finding import AuditReport, Finding, SettledFinding, TopicFacts
from topicwarden.model.verdict import BY_WEIGHT, ReadScope, Verdict
from topicwarden.report import display

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
    def domain(self) -> str:
        return self.facts.domain if self.facts else ""

    @property
    def owner(self) -> str:
        return (self.facts.owner or "") if self.facts else ""

    @property
    def standing(self) -> str:
        """How declared and live differ in being there at all; empty where they do not."""
        if self.facts is None or (self.facts.declared and self.facts.partitions):
            return ""
        return "not on the cluster" if self.facts.declared else "not declared"


@dataclass(frozen=True)
class FindingGroup:
    """The topics of a domain or an owner (empty: none is named), and how many have which weightiest verdict."""

    name: str
    topics: int
    verdicts: Counter[Verdict]


@dataclass(frozen=True)
class AuditDigest:
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
            f" in {display.duration(report.scan_seconds * 1000)}: {verdicts}"
        )

    @property
    def limits(self) -> list[str]:
        """What this audit did not look at, or could not: a sentence each."""
        return list(_limits(self.report))

    @property
    def settled(self) -> list[SettledFinding]:
        """What became of the last audit's suspects, the worst first."""
        return sorted(
            self.report.settled, key=lambda one: (BY_WEIGHT.index(one.now), one.topic, one.check, one.partitions)
        )

    @property
    def domains(self) -> list[FindingGroup]:
        """Those with most that is not well first."""
        return _groups([(topic.domain, topic.verdict) for topic in self.topics])

    @property
    def owners(self) -> list[FindingGroup]:
        return _groups([(topic.owner, topic.verdict) for topic in self.topics])

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


def digest(report: AuditReport) -> AuditDigest:
    """Groups and orders a report's findings once, for all formats."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        found[finding.topic].append(finding)
    facts = {topic.name: topic for topic in report.topics}
    topics = [_topic(name, facts.get(name), found.get(name, [])) for name in {**facts, **found}]
    topics.sort(key=lambda topic: (BY_WEIGHT.index(topic.verdict), topic.name))
    return AuditDigest(report, topics, report.counts())


def time_span(topic: TopicFacts) -> tuple[int | None, int | None]:
    """The earliest and latest record's timestamp over all partitions; None where nothing was read."""
    firsts = [p.first_timestamp for p in topic.partitions if p.first_timestamp is not None]
    lasts = [p.last_timestamp for p in topic.partitions if p.last_timestamp is not None]
    return min(firsts, default=None), max(lasts, default=None)


def reasoning(finding: Finding) -> list[str]:
    """All that stands behind a finding's message, a line each: causes, numbers, remedy, and where it is declared."""
    lines = [f"because {reason}" for reason in finding.because]
    if finding.evidence:
        shown = (f"{name} = {display.evidence(name, value)}" for name, value in finding.evidence.items())
        lines.append(f"evidence: {'; '.join(shown)}")
    if finding.remedy:
        lines.append(f"remedy: {finding.remedy}")
    if finding.place:
        lines.append(f"declared at {finding.place}")
    return [display.one_line(line) for line in lines]


def said(finding: Finding) -> str:
    """The partitions that a finding speaks of, and its message."""
    where = f"[{display.numbers(finding.partitions)}] " if finding.partitions else ""
    return display.one_line(where + (finding.message or "no message"))


def _limits(report: AuditReport) -> Iterator[str]:
    if report.read is ReadScope.LAST:
        yield (
            f"Only what was written since the last audit was read: {_plural(report.scanned_records, 'record')}, "
            f"beside {report.remembered_records:,} that are remembered."
        )
    if report.coverage < 1:
        share = f"{report.coverage:.2%} of the offsets were read"
        yield f"{share}, the newest of each partition: a pass speaks of those alone."
    lost = [p.lost_to_retention for topic in report.topics for p in topic.partitions if p.lost_to_retention]
    if lost:
        yield (
            f"Retention took {_plural(sum(lost), 'offset')} of {_plural(len(lost), 'partition')} "
            "while the audit went on, before they were read."
        )
    for note in report.notes:
        yield f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


def _groups(named: list[tuple[str, Verdict]]) -> list[FindingGroup]:
    found: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for name, verdict in named:
        found[name][verdict] += 1
    groups = [FindingGroup(name, verdicts.total(), verdicts) for name, verdicts in found.items()]
    return sorted(groups, key=lambda group: (*(-group.verdicts[verdict] for verdict in BY_WEIGHT[:-1]), group.name))


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
