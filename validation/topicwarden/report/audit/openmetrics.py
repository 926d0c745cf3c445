"""Write ``report.prom``, the numbers of an audit as metrics for Prometheus; see ``prometheus_text``.

A check that passes on a topic has no series of its own, so that a thousand topics have about ten thousand series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from topicwarden.model.finding import OF_CLUSTER, AuditReport, TopicFacts
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import AuditDigest, digest
from topicwarden.report.prometheus_text import Families, Sample, Table, families_of, metrics_text
from topicwarden.report.usage import openmetrics as usage


def render(report: AuditReport, _: ReportBackground | None = None) -> str:
    """Return the metrics of ``report``. Equal reports have equal texts."""
    return metrics_text(report.stack, families(report))


def families(report: AuditReport) -> Families:
    """Return what each metric means and its series, by the name of the metric."""
    return {**_families(digest(report)), **(usage.families(report.usage) if report.usage else {})}


def _families(view: AuditDigest) -> dict[str, tuple[str, Iterable[Sample]]]:
    """Return what each metric means and its series, by the name of the metric."""
    report, by_name = view.report, sorted(view.topics, key=lambda topic: topic.name)
    topics = [topic.facts for topic in by_name if topic.facts]
    identity = {"version": report.topicwarden, "cluster_id": report.cluster_id or ""}
    return {
        "audit_info": ("Version and cluster of the last audit; always 1.", [(identity, 1)]),
        "audit_started_timestamp_seconds": ("Start of the last audit.", [({}, report.started / 1000)]),
        "audit_finished_timestamp_seconds": ("End of the last audit.", [({}, report.finished / 1000)]),
        "audit_scanned_records": ("Records that the last audit read.", [({}, report.scanned_records)]),
        "audit_remembered_records": (
            "Records that an earlier audit read, so that the last audit did not read them again.",
            [({}, report.remembered_records)],
        ),
        "audit_step_seconds": (
            "Duration of the last audit: the step scan reads records, other is the rest.",
            _steps(report),
        ),
        "audit_coverage_ratio": (
            "Share of offsets that the last audit read or an earlier audit remembered.",
            [({}, report.coverage)],
        ),
        "audit_topics": (
            "Audited topics by their worst verdict.",
            _by_verdict(Counter(t.verdict for t in view.of_topics)),
        ),
        "audit_findings": ("Findings of each check by verdict, in all topics.", _by_check(report)),
        "topic_findings": ("Findings of each check that are not a pass, by topic and verdict.", _by_topic(view)),
        "topic_info": (
            "Domain and declared owner of a topic; always 1.",
            [
                ({"topic": topic.name, "domain": topic.domain, "owner": topic.owner}, 1)
                for topic in by_name
                if topic.name != OF_CLUSTER
            ],
        ),
        **families_of(topics, _OF_TOPICS, lambda facts: {"topic": facts.name}),
    }


def _steps(report: AuditReport) -> Iterator[Sample]:
    other = (report.finished - report.started) / 1000 - report.scan_seconds
    yield {"step": "scan"}, report.scan_seconds
    yield {"step": "other"}, round(max(0.0, other), 3)


def _by_verdict(counts: Mapping[Verdict, int]) -> Iterator[Sample]:
    return (({"verdict": verdict.value}, counts[verdict]) for verdict in WORST_FIRST)


def _by_check(report: AuditReport) -> Iterator[Sample]:
    counts = Counter((finding.check, finding.verdict) for finding in report.findings)
    for check in sorted({finding.check for finding in report.findings}):
        for verdict in WORST_FIRST:
            yield {"check": check, "verdict": verdict.value}, counts[check, verdict]


def _by_topic(view: AuditDigest) -> Iterator[Sample]:
    findings = (finding for topic in view.topics for finding in topic.findings)
    counts = Counter((finding.topic, finding.check, finding.verdict) for finding in findings)
    for (topic, check, verdict), count in sorted(counts.items()):
        yield {"topic": topic, "check": check, "verdict": verdict.value}, count


def _total(facts: TopicFacts, field: str) -> int | None:
    """Return the sum of a field of all partitions; None if it is unknown for every partition."""
    known = [value for partition in facts.partitions if (value := getattr(partition, field)) is not None]
    return sum(known) if known else None


def _last_timestamp(facts: TopicFacts) -> float | None:
    times = [partition.last_timestamp for partition in facts.partitions if partition.last_timestamp is not None]
    return max(times) / 1000 if times else None


_OF_TOPICS: Final[Table[TopicFacts]] = {
    "topic_partitions": ("Partitions of a topic.", lambda facts: len(facts.partitions)),
    "topic_records": ("Records of a topic that the audit read.", lambda facts: facts.records),
    "topic_payload_bytes": (
        "Keys and values of a topic that the audit read, uncompressed.",
        lambda facts: facts.payload_bytes,
    ),
    "topic_log_bytes": ("Logs of a topic's leaders on disk, compressed.", lambda facts: facts.log_bytes),
    "topic_superseded_records": (
        "Records of a compacted topic that have a later record with the same key in their partition.",
        lambda facts: _total(facts, "superseded"),
    ),
    "topic_tombstones": (
        "Records of a topic with a key and no value.",
        lambda facts: _total(facts, "tombstones"),
    ),
    "topic_null_keys": ("Records of a topic without a key.", lambda facts: _total(facts, "null_keys")),
    "topic_skew_ratio": (
        "Records of the fullest partition of a topic, divided by the mean per partition.",
        lambda facts: facts.skew,
    ),
    "topic_last_record_timestamp_seconds": ("Highest timestamp of the records that the audit read.", _last_timestamp),
}
