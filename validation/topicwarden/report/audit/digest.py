"""The content that all formats of an audit report share: findings by topic, limits, a headline and a summary line."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from topicwarden.model.finding import OF_CLUSTER, OF_SINGLE_RECORDS, AuditReport, Finding, SettledFinding, TopicFacts
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import WORST_FIRST, ReadScope, Verdict
from topicwarden.report import display
from topicwarden.report.display import one_line

NEXT_STEP: Final = (
    "Declare the topics, so that plans show what a change does to records, and audits compare records with the YAML:"
)
"""What the command at the end of a report on an undeclared cluster is for."""
_UNDECLARED = "topic-undeclared"
"""The check that finds topics without a declaration."""

OF_CONTENTS = frozenset(
    {
        *("arrival-count", "arrival-silence", "empty-value", "expression", "header", "hot-key", "key-schema"),
        *("null-key", "ordered", "partition-skew", "record-size", "references", "unique"),
        *("schema-version", "timestamp-future", "timestamp-late", "timestamp-type", "timestamp-unit", "value-schema"),
    }
)
"""The checks of what producers write. Others come first: they tell of records that are lost, or that nobody deletes."""

OF_ORDER: Final = frozenset(
    {
        *("broker-defaults", "idle-topic", _UNDECLARED, "undeclared-consumer", "undeclared-producer"),
        *("unused-access", "unused-schema-version"),
    }
)
"""The checks of what is to be tidied up, and harms no record. They come last."""

SYMBOLS = {Verdict.FAIL: "✗", Verdict.SUSPECT: "!", Verdict.UNDECIDABLE: "?", Verdict.PASS: "✓"}


@dataclass(frozen=True)
class TopicDigest:
    """One topic with its findings. ``facts`` is None if only a finding refers to the topic."""

    name: str
    facts: TopicFacts | None
    verdict: Verdict
    findings: list[Finding]
    """All findings except passes, the worst first."""
    notes: list[Finding]
    """Passes with an explanation."""
    passed: list[str]
    """The checks that passed without an explanation, sorted."""
    may_be_undeclared: bool = False
    """Whether the report is on a cluster that no project declares."""

    @property
    def domain(self) -> str:
        return self.facts.domain if self.facts else ""

    @property
    def owner(self) -> str:
        return (self.facts.owner or "") if self.facts else ""

    @property
    def absence(self) -> str:
        """``not on the cluster`` or ``not declared``; empty for a topic that is both."""
        if self.facts is None or (self.facts.declared and self.facts.partitions) or self.may_be_undeclared:
            return ""
        return "not on the cluster" if self.facts.declared else "not declared"

    @property
    def only_undeclared(self) -> bool:
        """Return whether the topic is wrong only because it is not declared, as topics of other teams are."""
        return bool(self.findings) and {finding.check for finding in self.findings} == {_UNDECLARED}

    @property
    def urgency(self) -> int:
        """The lowest ``urgency`` of the findings with the worst verdict: the lower, the more urgent."""
        return min((urgency(each.check) for each in self.findings if each.verdict is self.verdict), default=0)


@dataclass(frozen=True)
class FindingGroup:
    """The topics of a domain or an owner, counted by their worst verdict. ``name`` is empty if there is no owner."""

    name: str
    topics: int
    verdicts: Counter[Verdict]


@dataclass(frozen=True)
class AuditDigest:
    """A report in reading order."""

    report: AuditReport
    topics: list[TopicDigest]
    """The worst first, those that are only not declared last among equals, then by name.

    Includes topics that only a finding refers to, and ``OF_CLUSTER``.
    """
    counts: Counter[Verdict]

    @property
    def of_topics(self) -> list[TopicDigest]:
        """The topics, without the findings that concern no single topic."""
        return [topic for topic in self.topics if topic.name != OF_CLUSTER]

    @property
    def attention(self) -> list[TopicDigest]:
        """The topics with a finding that is not a pass."""
        return [topic for topic in self.topics if topic.findings]

    @property
    def noted(self) -> list[TopicDigest]:
        """The topics with notes."""
        return [topic for topic in self.topics if topic.notes]

    @property
    def summary(self) -> str:
        """The counts in one line, the last line on a terminal."""
        report = self.report
        verdicts = ", ".join(f"{self.counts[verdict]:,} {verdict.value}" for verdict in WORST_FIRST)
        return (
            f"{counted(len(self.of_topics), 'topic')}, {counted(report.scanned_records, 'record')}"
            f" in {display.duration(report.scan_seconds * 1000)}: {verdicts}"
        )

    @property
    def title(self) -> tuple[str, str]:
        """The heading of the report in two parts: what it is on, and the name of that."""
        return ("Audit of stack" if self.report.declared else "Audit of cluster"), self.report.stack

    @property
    def next_step(self) -> str:
        """The command that makes a project of a cluster that no project declares; empty for a stack."""
        if self.report.declared:
            return ""
        servers, settings = shlex.quote(one_line(self.report.stack)), self.report.command_config
        return (
            "topicwarden init my-topics --empty && cd my-topics && "
            f"topicwarden import --files-only --bootstrap-server {servers}"
            + (f" --command-config {shlex.quote(one_line(settings))}" if settings else "")
        )

    @property
    def limits(self) -> list[str]:
        """Sentences on the records and topics that this audit did not or could not read."""
        return list(_limits(self.report))

    @property
    def settled(self) -> list[SettledFinding]:
        """The findings of the previous audit with their verdicts now, the worst first."""
        return sorted(
            self.report.settled, key=lambda each: (WORST_FIRST.index(each.now), each.topic, each.check, each.partitions)
        )

    @property
    def domains(self) -> list[FindingGroup]:
        """The topics by domain; the domain with the most failures comes first."""
        return _groups([(topic.domain, topic.verdict) for topic in self.of_topics])

    @property
    def owners(self) -> list[FindingGroup]:
        """The topics by owner; the owner with the most failures comes first."""
        return _groups([(topic.owner, topic.verdict) for topic in self.of_topics])

    @property
    def headline(self) -> str:
        """One sentence for people who do not operate the cluster."""
        total = len(self.of_topics)
        if not total:
            return "No topics were audited."
        verdicts = Counter(topic.verdict for topic in self.of_topics)
        passed = verdicts[Verdict.PASS]
        parts = [f"{passed:,} of {counted(total, 'topic')} passed all checks"]
        if passed == total:
            parts = ["The topic passed all checks" if total == 1 else f"All {total:,} topics passed all checks"]
        if attention := verdicts[Verdict.FAIL] + verdicts[Verdict.SUSPECT]:
            parts.append(f"{attention:,} {'needs' if attention == 1 else 'need'} attention")
        if undecidable := verdicts[Verdict.UNDECIDABLE]:
            parts.append(f"{undecidable:,} could not be decided")
        if any(topic.verdict in (Verdict.FAIL, Verdict.SUSPECT) for topic in self.topics if topic.name == OF_CLUSTER):
            parts.append("the access of the cluster needs attention")
        return "; ".join(parts) + "."


def digest(report: AuditReport) -> AuditDigest:
    """Return the report's findings grouped by topic and in reading order, for all formats."""
    findings: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        findings[finding.topic].append(finding)
    facts = {topic.name: topic for topic in report.topics}
    topics = [
        replace(_topic(name, facts.get(name), findings.get(name, [])), may_be_undeclared=not report.declared)
        for name in {**facts, **findings}
    ]
    topics.sort(key=lambda topic: (WORST_FIRST.index(topic.verdict), topic.only_undeclared, topic.urgency, topic.name))
    return AuditDigest(report, topics, report.counts())


def ordered(report: AuditReport) -> AuditReport:
    """Return the report with topics, findings and partitions sorted by name and number, so that two are comparable."""
    topics = [
        topic.model_copy(update={"partitions": sorted(topic.partitions, key=lambda partition: partition.partition)})
        for topic in sorted(report.topics, key=lambda topic: topic.name)
    ]
    findings = sorted(report.findings, key=lambda f: (f.topic, f.check, f.partitions, f.verdict.value, f.message))
    settled = sorted(report.settled, key=lambda each: (each.topic, each.check, each.partitions, each.now.value))
    return report.model_copy(update={"topics": topics, "findings": findings, "settled": settled})


def urgency(check: str) -> int:
    """Return 0 for a check of records that are lost or kept, 1 for one of their contents, 2 for one of order."""
    return 2 if check in OF_ORDER else int(check in OF_CONTENTS)


def time_span(topic: TopicFacts) -> tuple[int | None, int | None]:
    """Return the earliest and the latest timestamp of all records, in milliseconds; None if no record was read."""
    firsts = [p.first_timestamp for p in topic.partitions if p.first_timestamp is not None]
    lasts = [p.last_timestamp for p in topic.partitions if p.last_timestamp is not None]
    return min(firsts, default=None), max(lasts, default=None)


def detail_lines(finding: Finding) -> list[str]:
    """Return the details of a finding, one per line: reasons, evidence, remedy, and the location of the declaration."""
    lines = [f"because {reason}" for reason in finding.because]
    if finding.evidence:
        shown = (f"{name} = {display.evidence(name, value)}" for name, value in finding.evidence.items())
        lines.append(f"evidence: {'; '.join(shown)}")
    if finding.remedy:
        lines.append(f"remedy: {finding.remedy}")
    if finding.location:
        lines.append(f"declared at {finding.location}")
    return [display.one_line(line) for line in lines]


def redrive_command(finding: Finding, report: AuditReport) -> str:
    """Return the command that copies the records of the finding to another topic; empty if no command can do that."""
    if not (report.declared and finding.verdict is Verdict.FAIL and finding.check in OF_SINGLE_RECORDS):
        return ""
    return f"topicwarden redrive --stack {report.stack} --finding {finding.id} --to TOPIC"


def age_of(finding: Finding, report: AuditReport) -> str:
    """Return ``new``, or since when the finding has been open; empty for a pass, and without an earlier audit."""
    if finding.since is None:
        return ""
    return "new" if finding.since == report.started else f"open since {display.timestamp(finding.since)}"


def message_line(finding: Finding) -> str:
    """Return a finding's partitions and message: ``[0, 3-5] 3 records …``."""
    partitions = f"[{display.ranges(finding.partitions)}] " if finding.partitions else ""
    return display.one_line(partitions + (finding.message or "no message"))


def _limits(report: AuditReport) -> Iterator[str]:
    if report.scope:
        yield f"Only topics in the scope of the stack were audited: {', '.join(report.scope)}."
    if report.read is ReadScope.LAST:
        yield (
            f"This audit read {counted(report.scanned_records, 'record')}; earlier audits with --since last had read "
            f"{counted(report.remembered_records, 'other record')}."
        )
    if report.coverage < 1:
        share = f"{report.coverage:.2%} of the offsets were read"
        yield f"{share}, the newest of each partition: a pass is valid only for these offsets."
    lost = [p.lost_to_retention for topic in report.topics for p in topic.partitions if p.lost_to_retention]
    if lost:
        yield (
            f"Retention deleted {counted(sum(lost), 'offset')} in {counted(len(lost), 'partition')} "
            "during the audit, before they were read."
        )
    for note in report.notes:
        yield f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


def _groups(verdicts_by_name: list[tuple[str, Verdict]]) -> list[FindingGroup]:
    counts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for name, verdict in verdicts_by_name:
        counts[name][verdict] += 1
    groups = [FindingGroup(name, verdicts.total(), verdicts) for name, verdicts in counts.items()]
    return sorted(groups, key=lambda group: (*(-group.verdicts[verdict] for verdict in WORST_FIRST[:-1]), group.name))


def _topic(name: str, facts: TopicFacts | None, findings: list[Finding]) -> TopicDigest:
    ordered = sorted(
        findings, key=lambda f: (WORST_FIRST.index(f.verdict), urgency(f.check), f.check, f.partitions, f.message)
    )
    return TopicDigest(
        name=name,
        facts=facts,
        verdict=ordered[0].verdict if ordered else Verdict.PASS,
        findings=[finding for finding in ordered if finding.verdict is not Verdict.PASS],
        notes=[finding for finding in ordered if finding.verdict is Verdict.PASS and finding.message],
        passed=sorted({f.check for f in ordered if f.verdict is Verdict.PASS and not f.message}),
    )
