"""Gather the evidence of an audit: a snapshot of the cluster, one scan of its topics, and narrow second reads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit import compare_audits
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit, changes_during_audit, changes_or_none
from topicwarden.audit.collect.cluster_context import ClusterContext
from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.committed_evidence import DeclaredContents, ScanResult, count_committed
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.incremental_scan import IncrementalScan, scan_since, stored_part_names
from topicwarden.audit.history.scan_plan import HistoryState, ScanStep, plan_scan
from topicwarden.audit.history.topic_state import KnownPartition, KnownTombstone, RememberedRecord, TopicState
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.internal_limits import limit_internal_topics
from topicwarden.audit.scan.java_errors import remedy, root_cause
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.partition_reads import DeletedKey, partition_reads
from topicwarden.audit.scan.progress import Progress, report_progress
from topicwarden.audit.scan.superseded_pairs import MOST_PARTITIONS, superseded_pairs
from topicwarden.audit.scan.timestamp_borders import resolve_timestamp_borders, without_proofs_by_time
from topicwarden.audit.subject import ReadRecords
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import ReadScope


@dataclass(frozen=True)
class AuditEvidence:
    """The evidence of one audit, before any check runs.

    ``previous_states`` are the states from the previous audit, by topic name. ``still_present`` are the records that
    the previous audit remembered and that this audit found again. ``tombstones`` are new tombstones to remember.
    ``known_partitions`` are the partitions whose records the next audit need not read again. ``records_read`` counts
    the records that were read from Kafka. The counts of all other records come from the history.
    """

    snapshot: Snapshot
    horizons: Mapping[TopicPartition, Horizon]
    counts: Mapping[TopicPartition, PartitionCounts]
    committed: Mapping[TopicPartition, PartitionCounts]
    pairs: Mapping[TopicPartition, tuple[SupersededPair, ...]]
    placements: Mapping[str, KeyPlacement]
    scan_seconds: float
    previous_states: Mapping[str, TopicState]
    still_present: Mapping[TopicPartition, frozenset[RememberedRecord]]
    tombstones: Mapping[TopicPartition, tuple[KnownTombstone, ...]]
    known_partitions: Mapping[TopicPartition, KnownPartition]
    read_ranges: Mapping[TopicPartition, ReadRecords]
    coverage: float
    records_read: int
    context: ClusterContext
    changes: Mapping[str, ChangeDuringAudit] = field(default_factory=dict)
    """What happened to topics during the audit, by topic name."""
    unread: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Why the records of a partition could not be read. The snapshot then lacks its offsets."""


def gather(
    spark: SparkSession, request: AuditRequest, observed: Observation, progress: Progress, history: AuditHistory
) -> AuditEvidence:
    """Return the evidence of one audit. A history that cannot be read or written is only noted in the report.

    Partitions that cannot be read, and topics that change while they are read, are left out. A partition whose leader
    changes has no leader epoch in the snapshot: the records are then of several leaders, whose logs may differ.

    Raises:
        Refusal: the cluster is unreachable, or the scan failed.
    """
    changes: dict[str, ChangeDuringAudit] = {}
    connection, snapshot = request.connection, observed.snapshot
    audited = {live.topic.name for live in observed.readable}
    while True:
        try:
            left_out = {name for name, change in changes.items() if not change.grown}
            evidence = _gather(spark, request, observed.without_records(left_out), progress, history)
        except Refusal:
            found = changes_or_none(connection, snapshot, audited - left_out)
            if all(change.grown for change in found.values()):
                raise
            changes |= found
        else:
            since = changes_during_audit(connection, snapshot, audited - left_out)
            settled = evidence.snapshot.without_leader_epochs(since.leaders)
            return replace(evidence, changes={**changes, **since.topics}, snapshot=settled)


def _gather(
    spark: SparkSession, request: AuditRequest, observed: Observation, progress: Progress, history: AuditHistory
) -> AuditEvidence:
    snapshot, readable = observed.snapshot, list(observed.readable)
    partition_horizons = dict(observed.horizons)
    previous_states = history.last_states(snapshot.cluster_id)
    comparable = {
        topic.topic.name: state for topic in readable if (state := _same_topic(topic, previous_states)) is not None
    }
    all_reads = limit_internal_topics(partition_reads(readable, partition_horizons), observed.selected)
    reads, scan_started = request.bounds.apply(all_reads), time.monotonic()
    declarations = {declaration.topic.name: declaration for declaration in request.declarations}
    declared = DeclaredContents(declarations, request.root, request.registry, request.partition_functions)
    contracts = declared.contracts(readable, snapshot.taken_at)
    try:
        still_present = remembered_records.still_present(spark, request.connection, _remembered_records(comparable))
        stored_parts = stored_part_names(history.store) if history.store else frozenset()
        steps = plan_scan(all_reads, snapshot, contracts, HistoryState(comparable, still_present, stored_parts))
        planned_reads = [step.read for step in steps] if request.since is ReadScope.LAST else reads
        with report_progress(spark, progress, sum(read.range.size for read in planned_reads)):
            tombstones = _known_tombstones(comparable)
            outcome = _scan_since_last(
                spark, request, snapshot, steps, contracts, tombstones=tombstones, history=history
            )
            if outcome is None:
                counts = scan(
                    spark,
                    request.connection,
                    reads,
                    snapshot.taken_at,
                    contracts,
                    deleted_keys=tombstones,
                    rate=request.bounds.rate,
                )
                known = {step.read.topic_partition: step.known for step in steps if step.known is not None}
                outcome = IncrementalScan(counts, known, sum(each.records for each in counts.values()))
        scan_seconds = time.monotonic() - scan_started
        unread = {partition: each.unread for partition, each in outcome.counts.items() if each.unread}
        if unread:
            observed = observed.without_records((), unread)
            snapshot, readable = observed.snapshot, list(observed.readable)
            partition_horizons = dict(observed.horizons)
            outcome = replace(outcome, counts={at: each for at, each in outcome.counts.items() if at not in unread})
        planned, reads = reads, [read for read in reads if read.topic_partition not in unread]
        with open_cluster(request.connection) as cluster:
            log_starts = cluster.log_starts([read.topic_partition for read in reads])
        pairs = superseded_pairs(spark, request.connection, reads, outcome.counts)
        partition_horizons |= {at: each for at, each in outcome.horizons.items() if at not in unread}
        settled_horizons, settled_counts = resolve_timestamp_borders(
            spark,
            request.connection,
            [replace(read, horizon=partition_horizons[read.topic_partition]) for read in reads],
            outcome.counts,
            now=snapshot.taken_at,
            rate=request.bounds.rate,
        )
        partition_horizons |= settled_horizons
        counts = {**outcome.counts, **settled_counts}
        unproven_horizons, unproven_counts = without_proofs_by_time(partition_horizons, counts)
        partition_horizons |= unproven_horizons
        counts |= unproven_counts
        scan_result = ScanResult(snapshot, tuple(readable), tuple(reads), counts, comparable)
        committed, placements = count_committed(
            spark, request.connection, scan_result, contracts, declared, rate=request.bounds.rate
        )
        new_tombstones = remembered_records.committed_tombstones(
            spark, request.connection, _new_tombstones(snapshot, counts, comparable)
        )
    except (PySparkException, Py4JJavaError) as error:
        raise Refusal(f"the scan failed: {root_cause(error)}; {remedy(error)}") from error
    history.notes += outcome.notes
    total = sum(read.range.size for read in all_reads)
    return AuditEvidence(
        snapshot=snapshot,
        horizons=partition_horizons,
        counts=counts,
        committed=committed,
        pairs=pairs,
        placements=placements,
        scan_seconds=scan_seconds,
        previous_states=previous_states,
        still_present=still_present,
        tombstones=new_tombstones,
        known_partitions=outcome.known,
        read_ranges={
            read.topic_partition: ReadRecords(
                read.range.start, read.range.end, log_starts.get(read.topic_partition, read.range.start)
            )
            for read in reads
        },
        coverage=sum(read.range.size for read in planned) / total if total else 1.0,
        records_read=outcome.read,
        context=observed.context,
        unread=unread,
    )


def _scan_since_last(
    spark: SparkSession,
    request: AuditRequest,
    snapshot: Snapshot,
    steps: list[ScanStep],
    contracts: Contracts,
    *,
    tombstones: list[DeletedKey],
    history: AuditHistory,
) -> IncrementalScan | None:
    """Return the scan of new records, combined with the remembered counts.

    None if this is not requested, or not possible; in the latter case, a note in the report gives the reason.
    """
    if request.since is not ReadScope.LAST:
        return None
    if history.store is None or snapshot.cluster_id is None:
        history.notes.append("there is no history (--history none): all records were read")
        return None
    outcome = scan_since(
        spark,
        request.connection,
        steps,
        snapshot,
        contracts,
        deleted_keys=tombstones,
        store=history.store,
        rate=request.bounds.rate,
    )
    if outcome is None:
        history.add_note("cannot be used for --since last: all records were read")
    return outcome


def _same_topic(topic: LiveTopic, states: Mapping[str, TopicState]) -> TopicState | None:
    """Return the previous state of the topic; None if there is none, or the topic was created again since."""
    state = states.get(topic.topic.name)
    return state if state is not None and state.topic_id == topic.id else None


def _known_tombstones(states: Mapping[str, TopicState]) -> list[DeletedKey]:
    return [
        (name, tombstone.partition, tombstone.key, tombstone.offset)
        for name, state in states.items()
        for tombstone in state.tombstones
    ]


def _remembered_records(states: Mapping[str, TopicState]) -> dict[TopicPartition, list[RememberedRecord]]:
    by_partition: dict[TopicPartition, list[RememberedRecord]] = {}
    for name, state in states.items():
        for record in state.remembered_records:
            by_partition.setdefault((name, record.partition), []).append(record)
    return by_partition


def _new_tombstones(
    snapshot: Snapshot, counts: Mapping[TopicPartition, PartitionCounts], states: Mapping[str, TopicState]
) -> dict[TopicPartition, list[KnownTombstone]]:
    """Return tombstones of compacted topics that are not remembered yet, for a bounded number of partitions."""
    known = {(name, partition, offset) for name, partition, _, offset in _known_tombstones(states)}
    found = {
        (name, partition): [
            KnownTombstone(partition, offset, key)
            for key, offset in sorted(partition_counts.deleted)[: compare_audits.MAX_TOMBSTONES]
            if (name, partition, offset) not in known
        ]
        for (name, partition), partition_counts in counts.items()
        if partition_counts.deleted and snapshot.topics[name].topic.compacted
    }
    return dict([(partition, tombstones) for partition, tombstones in found.items() if tombstones][:MOST_PARTITIONS])
