"""The evidence of one audit, of all topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topicwarden.audit.audited_topic import ReadRecords
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.cluster_context import ClusterContext
from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.history.topic_state import (
    KnownPartition,
    KnownPlacement,
    KnownTombstone,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.record_comparison import ComparedRecords
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.usage import AuthorizerLogs


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
    authorizer_logs: AuthorizerLogs | None = None
    """What the authorizer logs of the brokers show; None if the audit got none."""
