"""The evidence: one snapshot of the cluster, one scan of its topics, a narrow second read of what that leaves open."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit import compare_audits
from topicwarden.audit.collect.cluster_context import ClusterContext, read_cluster_context
from topicwarden.audit.collect.horizon import Horizon, TopicPartition, horizons
from topicwarden.audit.committed_findings import DeclaredContents, ScanResult, settled
from topicwarden.audit.contents.contracts import Contracts
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.incremental_scan import IncrementalScan, scan_since, stored_part_names
from topicwarden.audit.history.scan_plan import HistoryState, ScanStep, plan_scan
from topicwarden.audit.history.topic_state import KnownPartition, KnownTombstone, RememberedRecord, TopicState
from topicwarden.audit.keys.key_placement import KeyPlacement
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.internal_limits import limit_internal_topics
from topicwarden.audit.scan.partition_reads import DeletedKey, partition_reads
from topicwarden.audit.scan.progress import Progress, report_progress
from topicwarden.audit.scan.superseded_pairs import MOST_PARTITIONS, superseded_pairs
from topicwarden.audit.scan.timestamp_borders import resolve_timestamp_borders
from topicwarden.audit.subject import ReadRecords
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import ReadScope


@dataclass(frozen=True)
class AuditEvidence:
    """What the cluster was found to be, before anything is judged.

    ``looks`` are the last audit's, by topic, ``standing`` what they remember and still is there, ``known`` what the
    next audit need not read again. ``read`` counts the records that were read from Kafka, the rest is remembered.
    """

    snapshot: Snapshot
    horizons: Mapping[TopicPartition, Horizon]
    counts: Mapping[TopicPartition, PartitionCounts]
    committed: Mapping[TopicPartition, PartitionCounts]
    pairs: Mapping[TopicPartition, tuple[SupersededPair, ...]]
    placements: Mapping[str, KeyPlacement]
    scan_seconds: float
    looks: Mapping[str, TopicState]
    standing: Mapping[TopicPartition, frozenset[RememberedRecord]]
    deleted: Mapping[TopicPartition, tuple[KnownTombstone, ...]]
    known: Mapping[TopicPartition, KnownPartition]
    reading: Mapping[TopicPartition, ReadRecords]
    coverage: float
    read: int
    around: ClusterContext


def gather(spark: SparkSession, request: AuditRequest, progress: Progress, history: AuditHistory) -> AuditEvidence:
    """Refuses where the cluster or Spark gives up; a history that is not to be had is only noted."""
    with open_cluster(request.connection) as cluster:
        snapshot = cluster.snapshot(expected=[declared.topic.name for declared in request.declarations])
        chosen = {name: topic for name, topic in snapshot.topics.items() if request.wants(name)}
        around = read_cluster_context(cluster, snapshot, chosen)
        wanted = [topic for name, topic in chosen.items() if name not in around.unreadable]
        borders = horizons(cluster, snapshot, wanted)
    looks = history.last_states(snapshot.cluster_id)
    same = {topic.topic.name: look for topic in wanted if (look := _same(topic, looks)) is not None}
    every = limit_internal_topics(partition_reads(wanted, borders), chosen)
    parts, begun = request.bounds.apply(every), time.monotonic()
    declarations = {held.topic.name: held for held in request.declarations}
    declared = DeclaredContents(declarations, request.root, request.registry, request.partition_functions)
    rules = declared.contracts(wanted, snapshot.taken_at)
    try:
        standing = remembered_records.still_present(spark, request.connection, _witnesses(same))
        held = stored_part_names(history.store) if history.store else frozenset()
        steps = plan_scan(every, snapshot, rules, HistoryState(same, standing, held))
        reading = [step.read for step in steps] if request.since is ReadScope.LAST else parts
        with report_progress(spark, progress, sum(part.range.size for part in reading)):
            outcome = _since_last(spark, request, snapshot, steps, rules, buried=_buried(same), history=history)
            if outcome is None:
                counts = scan(
                    spark,
                    request.connection,
                    parts,
                    snapshot.taken_at,
                    rules,
                    deleted_keys=_buried(same),
                    rate=request.bounds.rate,
                )
                known = {step.read.topic_partition: step.known for step in steps if step.known is not None}
                outcome = IncrementalScan(counts, known, sum(each.records for each in counts.values()))
        scan_seconds = time.monotonic() - begun
        with open_cluster(request.connection) as cluster:
            log_starts = cluster.log_starts([part.topic_partition for part in parts])
        pairs = superseded_pairs(spark, request.connection, parts, outcome.counts)
        borders |= outcome.horizons
        stamps = resolve_timestamp_borders(
            spark,
            request.connection,
            [replace(part, horizon=borders[part.topic_partition]) for part in parts],
            outcome.counts,
            now=snapshot.taken_at,
            rate=request.bounds.rate,
        )
        borders, counts = borders | stamps[0], {**outcome.counts, **stamps[1]}
        scanned = ScanResult(snapshot, tuple(wanted), tuple(parts), counts)
        committed, placements = settled(spark, request.connection, scanned, rules, declared, rate=request.bounds.rate)
        deleted = remembered_records.committed_tombstones(spark, request.connection, _deleted(snapshot, counts, same))
    except (PySparkException, Py4JJavaError) as error:
        raise Refusal(f"the scan did not end: {_root_cause(error)}; is the cluster still there? audit again") from error
    history.notes += outcome.notes
    total = sum(part.range.size for part in every)
    return AuditEvidence(
        snapshot=snapshot,
        horizons=borders,
        counts=counts,
        committed=committed,
        pairs=pairs,
        placements=placements,
        scan_seconds=scan_seconds,
        looks=looks,
        standing=standing,
        deleted=deleted,
        known=outcome.known,
        reading={
            part.topic_partition: ReadRecords(
                part.range.start, part.range.end, log_starts.get(part.topic_partition, part.range.start)
            )
            for part in parts
        },
        coverage=sum(part.range.size for part in parts) / total if total else 1.0,
        read=outcome.read,
        around=around,
    )


def _since_last(
    spark: SparkSession,
    request: AuditRequest,
    snapshot: Snapshot,
    steps: list[ScanStep],
    rules: Contracts,
    *,
    buried: list[DeletedKey],
    history: AuditHistory,
) -> IncrementalScan | None:
    """The scan of what is new, with what is known; None where that is not asked for, or cannot be, and why is noted."""
    if request.since is not ReadScope.LAST:
        return None
    if history.store is None or snapshot.cluster_id is None:
        history.notes.append("nothing is remembered (--history none): everything was read")
        return None
    done = scan_since(
        spark,
        request.connection,
        steps,
        snapshot,
        rules,
        deleted_keys=buried,
        store=history.store,
        rate=request.bounds.rate,
    )
    if done is None:
        history.add_note("cannot be used for --since last: everything was read")
    return done


def _same(topic: LiveTopic, looks: Mapping[str, TopicState]) -> TopicState | None:
    look = looks.get(topic.topic.name)
    return look if look is not None and look.topic_id == topic.id else None


def _buried(looks: Mapping[str, TopicState]) -> list[DeletedKey]:
    return [(name, one.partition, one.key, one.offset) for name, look in looks.items() for one in look.tombstones]


def _witnesses(looks: Mapping[str, TopicState]) -> dict[TopicPartition, list[RememberedRecord]]:
    found: dict[TopicPartition, list[RememberedRecord]] = {}
    for name, look in looks.items():
        for one in look.remembered_records:
            found.setdefault((name, one.partition), []).append(one)
    return found


def _deleted(
    snapshot: Snapshot, counts: Mapping[TopicPartition, PartitionCounts], looks: Mapping[str, TopicState]
) -> dict[TopicPartition, list[KnownTombstone]]:
    """Tombstones of compacted topics that are not remembered yet, of a bounded number of partitions."""
    known = {(name, one.partition, one.offset) for name, look in looks.items() for one in look.tombstones}
    found = {
        (name, partition): [
            KnownTombstone(partition, offset, key)
            for key, offset in sorted(held.deleted)[: compare_audits.MOST_TOMBSTONES]
            if (name, partition, offset) not in known
        ]
        for (name, partition), held in counts.items()
        if held.deleted and snapshot.topics[name].topic.compacted
    }
    return dict([(place, stones) for place, stones in found.items() if stones][:MOST_PARTITIONS])


def _root_cause(error: Exception) -> str:
    """What went wrong first: Spark wraps a task's failure several times, with a stack trace in each message."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    said = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return said.strip().partition("\n")[0]
