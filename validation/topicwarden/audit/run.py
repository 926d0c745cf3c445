"""Run one audit: gather the evidence, judge every topic, and settle the findings of the previous audit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession

from topicwarden import __version__
from topicwarden.audit import compare_audits
from topicwarden.audit.access_check import AuditedAccess
from topicwarden.audit.access_checks import judge_access
from topicwarden.audit.audit_evidence import AuditEvidence, topic_facts, with_used_ids
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.authorizer_log.read_logs import log_notes, read_authorizer_logs
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.collect.registry_subjects import subjects_of
from topicwarden.audit.collect_usage import usage_facts
from topicwarden.audit.gather import gather_despite_changes
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.outcomes import trend, with_changes
from topicwarden.audit.history.scan_plan import has_new_records
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.audit.judge import advice, findings, judge, unsettled_checks
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.progress import Progress
from topicwarden.audit.scan.spark_source import SparkOnce, SparkSource, source_of
from topicwarden.kafka.read.group_lags import unread_groups
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.access import LiveAccess
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import ReadScope
from topicwarden.specs.resolve import Declaration
from topicwarden.usage.assemble_report import usage_report
from topicwarden.usage.usage_facts import UsageFacts
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse, remember_in_context, too_young

T = TypeVar("T")


def audit(
    spark: SparkSession | SparkSource, request: AuditRequest, progress: Progress, observed: Observation | None = None
) -> AuditReport:
    """Read the topics of the cluster once, and return the report.

    ``spark`` is a session, or starts one when the audit first needs it: at once, or with ``--since last`` only if
    there is something to read. ``observed`` is the cluster a moment ago; by default, it is read now.

    Raises:
        Refusal: the driver and the executors do not share the history, the cluster is unreachable or another one than
            that of the history, or Spark failed.
    """
    observed = observed or request.observe()
    started = observed.snapshot.taken_at
    session = source_of(spark)
    history = AuditHistory(session, request.history)
    ready = SparkOnce(session, history.require_shared)
    if request.since is ReadScope.ALL:
        ready()
    cluster_id = observed.snapshot.cluster_id
    if request.declared:
        history.require_cluster(cluster_id, request.connection, request.stack)
    request = replace(request, connection=replace(request.connection, cluster_id=cluster_id))
    logs = read_authorizer_logs(ready(), log, request.log_time_zone) if (log := request.authorizer_log) else None
    context = UseContext(
        request.access,
        observed.access,
        request.scope,
        request.usage,
        logs,
        observer=request.connection.principal,
    )
    use, context = remember_in_context(history.use, observed.snapshot, observed.use, context)
    evidence = gather_despite_changes(ready, request, observed, progress, history)
    declared = {
        declaration.topic.name: declaration
        for declaration in request.declarations
        if request.selects(declaration.topic.name)
    }
    registered = with_used_ids(request.read_subjects(observed.subjects), evidence)
    live = {name: topic for name, topic in evidence.snapshot.topics.items() if request.selects(name)}
    names = sorted({*declared, *live})
    subjects = {
        name: replace(
            _subject(name, declared.get(name), live.get(name), evidence),
            use=use.topics.get(name),
            previous_use=use.previous.get(name),
            use_context=context,
            may_be_undeclared=not request.declared,
            subjects=subjects_of(name, request.subjects, registered),
        )
        for name in names
    }
    results = {name: judge(subject) for name, subject in subjects.items()}
    states = [
        compare_audits.topic_state(
            subject,
            results[name],
            [found for p in subject.counts or () for found in evidence.tombstones.get((name, p), ())],
            {p: known for p in subject.counts or () if (known := evidence.known_partitions.get((name, p))) is not None},
            placement=evidence.known_placements.get(name),
            metadata_max_age=request.metadata_max_age,
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
        findings=[
            *(finding for name in names for finding in findings(name, results[name], declared.get(name))),
            *_access_findings(request, observed, use),
        ],
        settled=[
            finding
            for name, subject in subjects.items()
            for finding in compare_audits.settled_findings(subject, results[name])
        ],
        read=request.since,
        coverage=evidence.coverage,
        remembered_records=max(0, records - evidence.records_read),
        scope=list(request.scope.patterns),
        declared=request.declared,
    )
    unsettled = {
        (name, each) for name, subject in subjects.items() for each in unsettled_checks(subject, results[name])
    }
    with ThreadPoolExecutor(1) as executor:  # both tasks wait for Spark and files
        saving = executor.submit(history.save, [state for state in states if state is not None], started)
        past_audits = trend(history, report, request.patterns, unsettled)
        saving.result()
    notes = sorted(
        {
            *history.notes,
            *use.notes,
            *too_young(request.usage, use),
            *_changes(evidence),
            *(log_notes(logs) if logs else ()),
            *(() if request.declared else advice(evidence.snapshot)),
        }
    )
    of_use = usage_report(_usage_facts(request, observed, use, context))
    return with_changes(report, past_audits, unsettled).model_copy(update={"notes": notes, "usage": of_use})


def _usage_facts(request: AuditRequest, observed: Observation, use: RememberedUse, context: UseContext) -> UsageFacts:
    lags = {(lag.group, lag.topic): lag for each in observed.context.group_lags.values() for lag in each.values()}
    return usage_facts(
        observed.snapshot,
        observed.use,
        use,
        context,
        stack=request.stack,
        declarations={declaration.topic.name: declaration for declaration in request.declarations},
        lags=lags,
        cost=request.cost,
        patterns=request.patterns,
        selects=request.selects,
        internal=observed.context.internal,
    )


def must_read(request: AuditRequest, snapshot: Snapshot) -> bool:
    """Return whether the log ends in ``snapshot`` show that an audit with ``--since last`` must read records.

    The history must be on this machine. Topics that this user may not read count as well.
    """
    states = AuditHistory(_no_spark, request.history).last_states(snapshot.cluster_id, snapshot.taken_at)
    selected = (live for name, live in snapshot.topics.items() if request.selects(name))
    return has_new_records(selected, states)


def _no_spark() -> SparkSession:
    raise AssertionError("files on this machine need no Spark")


def _access_findings(request: AuditRequest, observed: Observation, use: RememberedUse) -> Iterator[Finding]:
    """Yield the findings on access, and on groups."""
    access = AuditedAccess(
        request.access,
        observed.access or LiveAccess(),
        request.scope,
        frozenset(declaration.topic.name for declaration in request.declarations),
        observed.absent_topics,
        observed.snapshot.broker_configs,
        use,
        request.usage,
        {topic: unread_groups(lags.values()) for topic, lags in observed.context.group_lags.items()},
    )
    yield from judge_access(access, request.reports_access_of)


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
        compared=evidence.compared.get(name),
        read_ranges=_by_partition(name, partitions, evidence.read_ranges),
        coverage=evidence.coverage,
        internal=evidence.context.internal.get(name),
        consumer_groups=evidence.context.consumer_groups.get(name),
        group_lags=evidence.context.group_lags.get(name),
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
