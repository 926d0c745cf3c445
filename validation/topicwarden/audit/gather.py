"""Gather the evidence of an audit: a snapshot of the cluster, one scan of its topics, and narrow second reads."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from topicwarden.audit import compare_audits
from topicwarden.audit.audit_evidence import AuditEvidence
from topicwarden.audit.audited_topic import ReadRecords
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit, changes_during_audit, changes_or_none
from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.committed_evidence import DeclaredContents, ScanResult, count_committed, stable_reads
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.audit_history import AuditHistory, registry_states
from topicwarden.audit.history.incremental_scan import IncrementalScan, scan_since, stored_part_names
from topicwarden.audit.history.scan_plan import HistoryState, ScanStep, plan_scan
from topicwarden.audit.history.topic_state import (
    FoundPairs,
    KnownPartition,
    KnownTombstone,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.compare_records import ComparedScan, compare_records
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.java_errors import remedy, root_cause
from topicwarden.audit.scan.partition_reads import DeletedKey, PartitionRead, limit_internal_topics, partition_reads
from topicwarden.audit.scan.progress import Progress, report_progress
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.audit.scan.superseded_pairs import MOST_PARTITIONS, pair_windows, superseded_pairs
from topicwarden.audit.scan.timestamp_borders import resolve_timestamp_borders, without_proofs_by_time
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import ReadScope
from topicwarden.specs.schema_files import ProjectSchemas


def gather_despite_changes(
    spark: SparkSource, request: AuditRequest, observed: Observation, progress: Progress, history: AuditHistory
) -> AuditEvidence:
    """Return the evidence of one audit, and what happened to topics meanwhile.

    If the scan fails because a topic was deleted or created again, ``gather`` is repeated without the topic. A
    partition whose leader changes has no leader epoch in the snapshot: the records are then of several leaders, whose
    logs may differ.

    Raises:
        Refusal: the cluster is unreachable, or the scan failed.
    """
    changes: dict[str, ChangeDuringAudit] = {}
    connection, snapshot = request.connection, observed.snapshot
    audited = {live.topic.name for live in observed.readable}
    while True:
        try:
            left_out = {name for name, change in changes.items() if not change.grown}
            evidence = gather(spark, request, observed.without_records(left_out), progress, history)
        except Refusal:
            found = changes_or_none(connection, snapshot, audited - left_out)
            if all(change.grown for change in found.values()):
                raise
            changes |= found
        else:
            since = changes_during_audit(connection, snapshot, audited - left_out)
            settled = evidence.snapshot.without_leader_epochs(since.leaders)
            return replace(evidence, changes={**changes, **since.topics}, snapshot=settled)


def gather(
    spark: SparkSource, request: AuditRequest, observed: Observation, progress: Progress, history: AuditHistory
) -> AuditEvidence:
    """Return the evidence of one audit, in these steps:

    1. Take the states of the same topics from the previous audit, and look for the records that it remembered.
    2. Plan the scan: which offsets to read, and what each record must look like.
    3. Scan: count and judge all records, or those since the last audit.
    4. Leave out the partitions that could not be read to the end.
    5. Read the log starts again: records that retention has deleted meanwhile were not read.
    6. Find the superseded pairs of compacted topics.
    7. Settle borders between timestamps that the brokers did not report, and drop what undated records leave unproven.
    8. Count committed records where it matters, and compare where keys are with where partitioners put them.
    9. Compare the committed records of topics with rules for that, if the scan has not compared exactly these.
    10. Look up the tombstones that the next audit needs.

    A history that cannot be read or written is only noted in the report. Spark starts with the first step that needs
    it. No step does if the history has the counts of all records.

    Raises:
        Refusal: the cluster is unreachable, or the scan failed.
    """
    connection = request.connection
    previous_states = history.last_states(observed.snapshot.cluster_id, observed.snapshot.taken_at)
    known = remembered_records.with_kept_tombstones(
        connection, observed.snapshot, _states_of_same_topics(observed.readable, previous_states)
    )
    started = time.monotonic()
    try:
        still_present = remembered_records.still_present(spark, connection, _remembered_records(known))
        stored_parts = stored_part_names(history.store) if history.store else frozenset()
        kept = remembered_records.kept_records(connection, observed.snapshot, known)
        plan = _plan(request, observed, HistoryState(known, still_present, stored_parts, kept))
        outcome = _scan(spark, request, plan, progress, history)
        scan_seconds = time.monotonic() - started
        unread = {partition: counts.unread for partition, counts in outcome.counts.items() if counts.unread}
        outcome, finished = _without(outcome, unread), plan.without(unread)
        read_ranges = _read_ranges(connection, finished.reads)
        pairs, known_partitions = _pairs(spark, connection, finished, outcome)
        horizons, counts = _settle_times(spark, request, finished, outcome)
        scan_result = ScanResult(
            finished.snapshot,
            finished.observed.readable,
            tuple(finished.reads),
            counts,
            known,
            outcome.committed,
            outcome.unchanged,
            request.metadata_max_age,
        )
        committed = count_committed(
            spark, connection, scan_result, plan.contracts, plan.declared, rate=request.bounds.rate
        )
        others = _comparison(finished.declared, finished.observed, scan_result.stable_reads) if unread else None
        compared = compare_records(
            spark,
            connection,
            others or plan.comparison,
            live={live.topic.name: live for live in scan_result.topics},
            contracts=plan.contracts,
            rate=request.bounds.rate,
        )
        tombstones = remembered_records.committed_tombstones(
            spark, connection, _new_tombstones(finished.snapshot, counts, known)
        )
    except (PySparkException, Py4JJavaError) as error:
        raise Refusal(f"the scan failed: {root_cause(error)}; {remedy(error)}") from error
    history.notes += outcome.notes
    return AuditEvidence(
        snapshot=finished.snapshot,
        horizons=horizons,
        counts=counts,
        committed=counts | {at: read.counts for at, read in committed.reads.items()},
        pairs=pairs,
        placements=committed.placements,
        known_placements=committed.remembered,
        compared=compared,
        scan_seconds=scan_seconds,
        previous_states={**previous_states, **known},
        still_present=still_present,
        tombstones=tombstones,
        known_partitions={
            at: replace(known, committed=committed.reads.get(at)) for at, known in known_partitions.items()
        },
        read_ranges=read_ranges,
        coverage=plan.coverage,
        records_read=outcome.read,
        context=observed.context,
        unread=unread,
    )


@dataclass(frozen=True)
class _ScanPlan:
    """The partition reads of a scan, and the rules by which it judges records.

    ``whole``: the reads of whole partitions. ``reads``: what ``--sample`` and ``--max-records`` leave of them.
    ``steps``: what an incremental scan reads instead. ``comparison``: the rules that compare records.
    """

    observed: Observation
    declared: DeclaredContents
    contracts: Contracts
    whole: list[PartitionRead]
    reads: list[PartitionRead]
    steps: list[ScanStep]
    comparison: ComparedScan
    deleted_keys: list[DeletedKey]

    @property
    def snapshot(self) -> Snapshot:
        return self.observed.snapshot

    @property
    def coverage(self) -> float:
        """Return the share of the offsets, 0 to 1, that ``reads`` cover."""
        total = sum(read.range.size for read in self.whole)
        return sum(read.range.size for read in self.reads) / total if total else 1.0

    def without(self, partitions: Collection[TopicPartition]) -> _ScanPlan:
        """Return the plan as if no record of ``partitions`` could be read."""
        reads = [read for read in self.reads if read.topic_partition not in partitions]
        return replace(self, observed=self.observed.without_records((), partitions), reads=reads)


def _plan(request: AuditRequest, observed: Observation, state: HistoryState) -> _ScanPlan:
    whole = limit_internal_topics(partition_reads(observed.readable, observed.horizons), observed.selected)
    declarations = {declaration.topic.name: declaration for declaration in request.declarations}
    declared = DeclaredContents(
        declarations,
        request.root,
        request.registry,
        request.partition_functions,
        request.subjects,
        observed.subjects,
        request.personal_names,
    )
    contracts = declared.contracts(observed.readable, observed.snapshot.taken_at)
    if request.history is not None:  # a full audit, too, is what the next one compares with
        contracts = replace(contracts, registry_states=registry_states(contracts))
    reads = request.bounds.apply(whole)
    return _ScanPlan(
        observed,
        declared,
        contracts,
        whole=whole,
        reads=reads,
        steps=plan_scan(whole, observed.snapshot, contracts, state),
        comparison=_comparison(declared, observed, stable_reads(observed.snapshot, reads)),
        deleted_keys=_known_tombstones(state.states),
    )


def _comparison(declared: DeclaredContents, observed: Observation, reads: Iterable[PartitionRead]) -> ComparedScan:
    """Return the rules that compare records; ``reads`` end at the last stable offsets."""
    topics = (live.topic.name for live in observed.readable)
    return ComparedScan(
        [declared.declarations[name] for name in topics if name in declared.declarations],
        [read.range for read in reads],
        observed.snapshot.taken_at,
        ProjectSchemas(declared.root),
        declared.subjects,
    )


def _scan(
    spark: SparkSource, request: AuditRequest, plan: _ScanPlan, progress: Progress, history: AuditHistory
) -> IncrementalScan:
    """Return the counts of all records, read now or known from the history."""
    since_last = request.since is ReadScope.LAST
    if since_last and all(step.unchanged for step in plan.steps):
        outcome = _scan_since_last(spark, request, plan, history)
        if outcome is not None:
            progress(1.0)
            return outcome
        since_last = False  # the history is damaged
    planned = [step.read for step in plan.steps] if since_last else plan.reads
    with report_progress(spark(), progress, sum(read.range.size for read in planned)):
        outcome = _scan_since_last(spark, request, plan, history) if since_last else None
        if outcome is not None:
            return outcome
        counts = scan(
            spark(),
            request.connection,
            plan.reads,
            plan.snapshot.taken_at,
            plan.contracts,
            deleted_keys=plan.deleted_keys,
            compared=plan.comparison,
            rate=request.bounds.rate,
        )
    known = {step.read.topic_partition: step.known for step in plan.steps if step.known is not None}
    return IncrementalScan(counts, known, sum(each.records for each in counts.values()))


def _scan_since_last(
    spark: SparkSource, request: AuditRequest, plan: _ScanPlan, history: AuditHistory
) -> IncrementalScan | None:
    """Return the scan of new records, combined with the remembered counts.

    None if this is not possible; a note in the report then gives the reason.
    """
    if history.store is None or plan.snapshot.cluster_id is None:
        history.notes.append("there is no history (--history none): all records were read")
        return None
    outcome = scan_since(
        spark,
        request.connection,
        plan.steps,
        plan.snapshot,
        plan.contracts,
        deleted_keys=plan.deleted_keys,
        store=history.store,
        rate=request.bounds.rate,
    )
    if outcome is None:
        history.add_note("cannot be used for --since last: all records were read")
    return outcome


def _pairs(
    spark: SparkSource, connection: Connection, plan: _ScanPlan, outcome: IncrementalScan
) -> tuple[dict[TopicPartition, tuple[SupersededPair, ...]], dict[TopicPartition, KnownPartition]]:
    """Return the superseded pairs of each partition, and what the next audit need not read again, with these pairs.

    Pairs that earlier audits found in the same offsets of an unchanged log are not searched again.
    """
    windows = pair_windows(plan.reads, outcome.counts)
    earlier = {
        (window.topic, window.partition): found.pairs
        for window in windows
        if (found := outcome.pairs.get((window.topic, window.partition)))
        and (found.start, found.end) == (window.start, window.end)
    }
    others = [window for window in windows if (window.topic, window.partition) not in earlier]
    pairs = superseded_pairs(spark, connection, others) | {at: found for at, found in earlier.items() if found}
    searched = {
        (at := (window.topic, window.partition)): FoundPairs(window.start, window.end, pairs.get(at, ()))
        for window in windows
    }
    known = {at: replace(known, pairs=searched.get(at, known.pairs)) for at, known in outcome.known.items()}
    return pairs, known


def _without(outcome: IncrementalScan, unread: Collection[TopicPartition]) -> IncrementalScan:
    """Return the counts and borders of the partitions that were read to the end."""
    return replace(
        outcome,
        counts={partition: counts for partition, counts in outcome.counts.items() if partition not in unread},
        horizons={partition: horizon for partition, horizon in outcome.horizons.items() if partition not in unread},
    )


def _read_ranges(connection: Connection, reads: Collection[PartitionRead]) -> dict[TopicPartition, ReadRecords]:
    """Return the offsets that were read, with the log start now, by partition."""
    with open_cluster(connection) as cluster:
        starts = cluster.log_starts([read.topic_partition for read in reads])
    return {
        (at := read.topic_partition): ReadRecords(read.range.start, read.range.end, starts.get(at, read.range.start))
        for read in reads
    }


def _settle_times(
    spark: SparkSource, request: AuditRequest, plan: _ScanPlan, outcome: IncrementalScan
) -> tuple[dict[TopicPartition, Horizon], dict[TopicPartition, PartitionCounts]]:
    """Return the horizons and the counts, corrected where brokers did not report a border, or records are undated."""
    horizons = {**plan.observed.horizons, **outcome.horizons}
    settled_horizons, settled_counts = resolve_timestamp_borders(
        spark,
        request.connection,
        [replace(read, horizon=horizons[read.topic_partition]) for read in plan.reads],
        outcome.counts,
        now=plan.snapshot.taken_at,
        rate=request.bounds.rate,
    )
    horizons, counts = horizons | settled_horizons, {**outcome.counts, **settled_counts}
    unproven_horizons, unproven_counts = without_proofs_by_time(horizons, counts)
    return horizons | unproven_horizons, counts | unproven_counts


def _states_of_same_topics(topics: Iterable[LiveTopic], states: Mapping[str, TopicState]) -> dict[str, TopicState]:
    """Return the previous states of ``topics``, without those of topics that were created again since."""
    return {
        live.topic.name: state
        for live in topics
        if (state := states.get(live.topic.name)) is not None and state.topic_id == live.id
    }


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
