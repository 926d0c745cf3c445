"""The evidence of one audit, of all topics, and the facts about a topic that a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from topicwarden.audit.audited_topic import AuditedTopic, ReadRecords
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.cluster_context import ClusterContext
from topicwarden.audit.collect.horizon import Horizon, TopicPartition, roll_time
from topicwarden.audit.history.topic_state import (
    KnownPartition,
    KnownPlacement,
    KnownTombstone,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import BANDS, PartitionCounts, SupersededPair
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.record_comparison import ComparedRecords
from topicwarden.kafka.read.snapshot import PartitionReplicas, Snapshot
from topicwarden.model.finding import AgeBand, PartitionerFacts, PartitionFacts, TopicFacts
from topicwarden.model.subject import SubjectUse


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
    known_placements: Mapping[str, KnownPlacement] = field(default_factory=dict)
    """The placements of keys that the next audit need not read again, by topic name."""
    compared: Mapping[str, Mapping[str, ComparedRecords]] = field(default_factory=dict)
    """What rules found that compare records, by topic and by the name of the rule."""
    changes: Mapping[str, ChangeDuringAudit] = field(default_factory=dict)
    """What happened to topics during the audit, by topic name."""
    unread: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Why the records of a partition could not be read. The snapshot then lacks its offsets."""


def topic_facts(name: str, subject: AuditedTopic) -> TopicFacts:
    """Return the facts about the topic ``name`` for the report."""
    live = subject.live
    return TopicFacts(
        name=name,
        domain=subject.declared.domain if subject.declared else "",
        declared=subject.declared is not None,
        topic_id=live.id if live else None,
        cleanup_policy=live.topic.config.get("cleanup.policy") if live else None,
        partitions=[_partition(subject, state) for state in live.replicas] if live else [],
        ages=_ages(subject),
        owner=subject.declared.owner if subject.declared else None,
        partitioner=_partitioner(subject),
    )


def _partition(subject: AuditedTopic, state: PartitionReplicas) -> PartitionFacts:
    extent = subject.live.extents.get(state.partition) if subject.live else None
    counts = subject.partition_counts(state.partition) or PartitionCounts()
    horizon = None if subject.other_log else subject.horizons.get(state.partition)
    roll_known = horizon is not None and subject.live is not None and roll_time(subject.live.topic) is not None
    read_range = subject.read_ranges.get(state.partition)
    counted = extent is not None and (subject.readable or extent.start == extent.end)
    lost = read_range.lost_offsets(counts.records) if read_range else 0
    return PartitionFacts(
        partition=state.partition,
        leader=state.leader,
        replicas=list(state.replicas),
        in_sync=list(state.in_sync),
        log_start=extent.start if extent else None,
        log_end=extent.end if extent else None,
        last_stable=extent.last_stable if extent else None,
        log_bytes=extent.log_bytes if extent else None,
        records=counts.records if counted else None,
        payload_bytes=counts.payload_bytes if counted else None,
        largest_record=counts.largest_record if counted else None,
        null_keys=counts.null_keys if counted else None,
        tombstones=counts.tombstones if counted else None,
        empty_values=counts.empty_values if counted else None,
        keys=counts.keys if counted and subject.compacted else None,
        superseded=counts.superseded if counted and subject.compacted else None,
        first_timestamp=counts.first_timestamp,
        last_timestamp=counts.last_timestamp,
        read_from=read_range.start if read_range else None,
        lost_to_retention=lost,
        gaps=max(0, read_range.end - read_range.start - counts.records - lost) if read_range else 0,
        rolled=horizon.rolled if horizon and roll_known else None,
        cleanable=horizon.cleanable if horizon and roll_known and subject.compacted else None,
        held_by=horizon.blocked_by if horizon and subject.compacted else None,
        overdue=horizon.overdue if horizon and roll_known and horizon.expired_time and not subject.compacted else None,
        future_offset=horizon.future_offset if horizon else None,
        future_timestamp=horizon.future_timestamp if horizon else None,
        hottest=counts.hottest or None,
        hottest_offset=counts.hottest_offset,
    )


def _partitioner(subject: AuditedTopic) -> PartitionerFacts | None:
    placement = subject.placement
    if placement is None or not placement.scores:
        return None
    return PartitionerFacts(
        conclusion="one partitioner" if placement.algorithms else "no known partitioner explains every key",
        algorithms=list(placement.algorithms),
        keys=placement.keys,
        scores={name: round(share, 4) for name, share in placement.scores.items()},
    )


def _ages(subject: AuditedTopic) -> list[AgeBand]:
    """Return the age bands that contain records, starting with timestamps in the future."""
    bounds = (None, *BANDS, None)
    totals = [sum(counts.ages[band] for counts in (subject.counts or {}).values()) for band in range(len(BANDS) + 1)]
    return [
        AgeBand(from_ms=bounds[band], to_ms=bounds[band + 1], records=records)
        for band, records in enumerate(totals)
        if records
    ]


def with_used_ids(subjects: Mapping[str, AuditedSubject], evidence: AuditEvidence) -> dict[str, AuditedSubject]:
    """Return the subjects with the schema ids of all records of their topics, or why these are not known."""
    return {name: _with_used_ids(subject, evidence) for name, subject in subjects.items()}


def _with_used_ids(subject: AuditedSubject, evidence: AuditEvidence) -> AuditedSubject:
    used: set[int] = set()
    for use in subject.declared.uses:
        if reason := _not_all_read(use.topic, evidence):
            return replace(subject, unknown_ids=reason)
        live = evidence.snapshot.topics.get(use.topic)
        for partition in range(live.topic.partitions if live else 0):
            counts = evidence.counts.get((use.topic, partition), PartitionCounts())
            found = [each for each in counts.schema_ids if each.part == use.part and each.id is not None]
            without = counts.null_keys if use.part == "key" else counts.tombstones
            if sum(each.records for each in found) != counts.records - without:
                return replace(subject, unknown_ids=_unknown(use))
            used |= {each.id for each in found if each.id is not None}
    return replace(subject, used_ids=frozenset(used))


def _not_all_read(topic: str, evidence: AuditEvidence) -> str | None:
    """Return why records of a topic were not read; None if all were, or if there is no such topic."""
    live = evidence.snapshot.topics.get(topic)
    if live is None:
        return f"it is not known whether {topic} exists" if topic in evidence.snapshot.hidden else None
    if topic in evidence.changes:
        return f"{topic} {evidence.changes[topic].message} during the audit"
    if evidence.coverage < 1:
        return "only a part of the records was read"
    for partition in range(live.topic.partitions):
        extent = live.extents.get(partition)
        if extent is None or (extent.start < extent.end and (topic, partition) not in evidence.counts):
            return f"not all records of {topic} were read"
    return None


def _unknown(use: SubjectUse) -> str:
    return f"{use.topic} has {use.part}s without a schema id, or with more ids than are counted one by one"
