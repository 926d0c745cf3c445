"""Run one audit: gather the evidence, judge every topic, and settle the findings of the previous audit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark.sql import SparkSession

from topicwarden import __version__
from topicwarden.audit import compare_audits
from topicwarden.audit.audit_evidence import AuditEvidence
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.gather import gather_despite_changes
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.outcomes import trend, with_changes
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.audit.judge import findings, judge
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.progress import Progress
from topicwarden.audit.subject import AuditedTopic
from topicwarden.audit.topic_facts import topic_facts
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.finding import AuditReport
from topicwarden.specs.resolve import Declaration

T = TypeVar("T")


def audit(
    spark: SparkSession, request: AuditRequest, progress: Progress, observed: Observation | None = None
) -> AuditReport:
    """Read the topics of the cluster once, and return the report.

    ``observed`` is the cluster a moment ago; by default, it is read now.

    Raises:
        Refusal: the driver and the executors do not share the history, the cluster is unreachable, or Spark failed.
    """
    observed = observed or request.observe()
    started = observed.snapshot.taken_at
    history = AuditHistory(spark, request.history)
    history.require_shared()
    evidence = gather_despite_changes(spark, request, observed, progress, history)
    declared = {
        declaration.topic.name: declaration
        for declaration in request.declarations
        if request.selects(declaration.topic.name)
    }
    live = {name: topic for name, topic in evidence.snapshot.topics.items() if request.selects(name)}
    names = sorted({*declared, *live})
    subjects = {name: _subject(name, declared.get(name), live.get(name), evidence) for name in names}
    results = {name: judge(subject) for name, subject in subjects.items()}
    states = [
        compare_audits.topic_state(
            subject,
            results[name],
            [found for p in subject.counts or () for found in evidence.tombstones.get((name, p), ())],
            {p: known for p in subject.counts or () if (known := evidence.known_partitions.get((name, p))) is not None},
        )
        for name, subject in subjects.items()
    ]
    records = sum(counts.records for counts in evidence.counts.values())
    report = AuditReport(
        topicwarden=__version__,
        stack=request.stack,
        cluster_id=evidence.snapshot.cluster_id,
        started=started,
        finished=_now_ms(),
        scanned_records=evidence.records_read,
        scan_seconds=round(evidence.scan_seconds, 3),
        topics=[topic_facts(name, subject) for name, subject in subjects.items()],
        findings=[finding for name in names for finding in findings(name, results[name], declared.get(name))],
        settled=[
            finding
            for name, subject in subjects.items()
            for finding in compare_audits.settled_findings(subject, results[name])
        ],
        read=request.since,
        coverage=evidence.coverage,
        remembered_records=max(0, records - evidence.records_read),
        scope=list(request.scope.patterns),
    )
    with ThreadPoolExecutor(1) as executor:  # both tasks wait for Spark and files
        saving = executor.submit(history.save, [state for state in states if state is not None], started)
        past_audits = trend(history, report, request.patterns)
        saving.result()
    notes = sorted({*history.notes, *_changes(evidence)})
    return with_changes(report, past_audits).model_copy(update={"notes": notes})


def _changes(evidence: AuditEvidence) -> Iterator[str]:
    """Yield a note for each topic that changed during the audit, and for the partitions that could not be read."""
    for name, change in evidence.changes.items():
        consequence = "the new partitions were not audited" if change.grown else "the topic was not judged"
        yield f"{name} {change.message}: {consequence}; audit it again"
    reasons: dict[tuple[str, str], list[int]] = {}
    for (name, partition), reason in evidence.unread.items():
        reasons.setdefault((name, reason), []).append(partition)
    for (name, reason), partitions in reasons.items():
        numbers = ", ".join(map(str, sorted(partitions)))
        yield f"{name}: the records of partition {numbers} were not judged: {reason}"


def _subject(name: str, declared: Declaration | None, live: LiveTopic | None, evidence: AuditEvidence) -> AuditedTopic:
    partitions, readable = range(live.topic.partitions if live else 0), name not in evidence.context.unreadable
    return AuditedTopic(
        snapshot=evidence.snapshot,
        declared=declared.topic if declared else None,
        live=live,
        horizons=_by_partition(name, partitions, evidence.horizons),
        counts=_by_partition(name, partitions, evidence.counts) if readable else None,
        committed=_by_partition(name, partitions, evidence.committed) if readable else None,
        pairs=_by_partition(name, partitions, evidence.pairs),
        past=_past(name, live, evidence),
        placement=evidence.placements.get(name),
        read_ranges=_by_partition(name, partitions, evidence.read_ranges),
        coverage=evidence.coverage,
        internal=evidence.context.internal.get(name),
        consumer_groups=evidence.context.consumer_groups.get(name),
        change=evidence.changes.get(name),
        unread=_by_partition(name, partitions, evidence.unread),
    )


def _by_partition(topic: str, partitions: Iterable[int], values: Mapping[TopicPartition, T]) -> dict[int, T]:
    """Return the values of one topic, by partition; without partitions that have none."""
    return {partition: values[topic, partition] for partition in partitions if (topic, partition) in values}


def _past(name: str, live: LiveTopic | None, evidence: AuditEvidence) -> PreviousAudit:
    state = evidence.previous_states.get(name)
    if live is None or state is None:
        return PreviousAudit()
    if state.topic_id != live.id:
        return PreviousAudit(recreated_from=state.topic_id)
    present = (evidence.still_present.get((name, partition), frozenset()) for partition in range(live.topic.partitions))
    return PreviousAudit(state, still_present=frozenset().union(*present))


def _now_ms() -> int:
    return int(time.time() * 1000)
