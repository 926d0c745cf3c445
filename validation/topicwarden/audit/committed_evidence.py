"""Evidence about contents that the first scan does not provide: counts of committed records, and key placement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.collect.registry_subjects import subjects_of
from topicwarden.audit.evidence import CommittedCounts, EveryPartition, ExactCommitted, view_of
from topicwarden.audit.history.known_placements import known_placements, proven_ends, remembered_placements
from topicwarden.audit.history.topic_state import CommittedRead, KnownPlacement, TopicState
from topicwarden.audit.scan.committed_scan import MOST_RECORDS, committed_counts, may_hold_uncommitted
from topicwarden.audit.scan.contracts import Contracts, build_contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.key_scan import TopicKeys, key_placements
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.contents import Contents
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.model.verdict import Verdict
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.registry_settings import RegistrySettings


@dataclass(frozen=True)
class DeclaredContents:
    """The declared contents of topics, by topic name, and the means to judge records by them.

    ``root`` is the project folder, for schema files. ``partition_functions`` are the Python functions
    (``module:function``) that may be imported. ``subjects`` are the declared subjects, ``audited_subjects`` those whose
    state in the Schema Registry was read, by name. ``personal_names`` are names of fields that the policy adds.
    """

    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    root: Path = Path()
    registry: RegistrySettings | None = None
    partition_functions: frozenset[str] = frozenset()
    subjects: DeclaredSubjects = NO_SUBJECTS
    audited_subjects: Mapping[str, AuditedSubject] = field(default_factory=dict)
    personal_names: frozenset[str] = frozenset()

    def contracts(self, topics: Iterable[LiveTopic], now: int) -> Contracts:
        """Return the contracts that the scan of ``topics`` judges records by; ``now`` is in milliseconds."""
        return build_contracts(
            topics,
            self.declarations,
            self.root,
            self.registry,
            now,
            subjects=self.subjects,
            personal_names=self.personal_names,
        )

    def contents(self, topic: str) -> Contents:
        """Return the declared contents of a topic; empty if the topic is not declared."""
        declaration = self.declarations.get(topic)
        return declaration.topic.contents if declaration else Contents()


def stable_reads(snapshot: Snapshot, reads: Iterable[PartitionRead]) -> list[PartitionRead]:
    """Return the reads, each cut off at the last stable offset."""
    ends = ((read, snapshot.topics[read.range.topic].extents[read.range.partition].last_stable) for read in reads)
    return [replace(read, range=replace(read.range, end=min(read.range.end, stable))) for read, stable in ends]


@dataclass(frozen=True)
class ScanResult:
    """The result of a scan: the topics of a snapshot, the partition reads, and the counts by partition."""

    snapshot: Snapshot
    topics: tuple[LiveTopic, ...]
    reads: tuple[PartitionRead, ...]
    counts: Mapping[TopicPartition, PartitionCounts]
    earlier: Mapping[str, TopicState] = field(default_factory=dict)
    """The states of the previous audit, by topic."""
    committed: Mapping[TopicPartition, CommittedRead] = field(default_factory=dict)
    """The committed records that earlier audits counted in partitions without new records."""
    unchanged: frozenset[TopicPartition] = frozenset()
    """The partitions whose records are the same as in the previous audit."""
    metadata_max_age: int = 0
    """How long (ms) producers may take to notice new partitions."""

    def proven_ends(self, live: LiveTopic) -> dict[int, int]:
        """Return, by partition, the offset from which on producers of a topic knew all its partitions."""
        state = self.earlier.get(live.topic.name)
        return proven_ends(state.growth if state else None, live.topic.partitions, self.metadata_max_age)

    def last_stable(self, partition: TopicPartition) -> int:
        """Return the last stable offset of a partition."""
        topic, number = partition
        return self.snapshot.topics[topic].extents[number].last_stable

    def known_committed(self, read: PartitionRead) -> CommittedRead | None:
        """Return the committed records among the offsets of ``read``, if earlier audits have counted all of them."""
        known = self.committed.get(read.topic_partition)
        same = known is not None and (known.start, known.end) == (read.range.start, read.range.end)
        return known if known is not None and same and not known.counts.at_most else None

    @property
    def stable_reads(self) -> list[PartitionRead]:
        """Return the counted partition reads, each cut off at the last stable offset."""
        return stable_reads(self.snapshot, (read for read in self.reads if read.topic_partition in self.counts))


@dataclass(frozen=True)
class CommittedEvidence:
    """The committed records of some partitions, and the key placement of each topic with counted keys.

    ``remembered``: the placements that the next audit need not read again, by topic.
    """

    reads: Mapping[TopicPartition, CommittedRead]
    placements: Mapping[str, KeyPlacement]
    remembered: Mapping[str, KnownPlacement]


def count_committed(
    spark: SparkSource,
    connection: Connection,
    scan_result: ScanResult,
    contracts: Contracts,
    declared: DeclaredContents,
    *,
    rate: int | None,
) -> CommittedEvidence:
    """Return the evidence about committed records and keys.

    Only partitions that may contain uncommitted records are read again, if they fail a check of contents or if a check
    needs exact counts (``ExactCommitted``), and only if earlier audits have not counted all their committed records.
    ``rate`` is the same limit as in ``scan``.
    """
    counts, stable = scan_result.counts, scan_result.stable_reads
    ranges: dict[str, list[OffsetRange]] = {}
    for read in stable:
        if read.range.start < read.range.end:
            ranges.setdefault(read.range.topic, []).append(read.range)
    keys = [
        TopicKeys(
            live.topic.name,
            live.topic.partitions,
            declared.contents(live.topic.name),
            {p: counts[live.topic.name, p] for p in live.extents if (live.topic.name, p) in counts},
            tuple(ranges.get(live.topic.name, ())),
            scan_result.proven_ends(live),
        )
        for live in scan_result.topics
        if live.topic.name in contracts.by_key
    ]
    partitions = [read.topic_partition for read in scan_result.reads]
    known_by_topic = known_placements(keys, scan_result.earlier, scan_result.unchanged, partitions)
    others = [each for each in keys if each.topic not in known_by_topic]
    placements = {
        **known_by_topic,
        **key_placements(spark, connection, others, declared.root, declared.partition_functions),
    }
    remembered = remembered_placements(keys, placements)
    uncertain = _uncertain_partitions(scan_result, declared, placements)
    again = [read for read in stable if read.topic_partition in uncertain]
    known = {read.topic_partition: found for read in again if (found := scan_result.known_committed(read)) is not None}
    if len(known) == len(again) and sum(counts[at].records for at in known) <= MOST_RECORDS:
        return CommittedEvidence(known, placements, remembered)
    now = scan_result.snapshot.taken_at
    committed = committed_counts(spark, connection, again, counts, contracts=contracts, now=now, rate=rate)
    reads = {
        (at := read.topic_partition): CommittedRead(read.range.start, read.range.end, committed[at]) for read in again
    }
    return CommittedEvidence(reads, placements, remembered)


def _uncertain_partitions(
    scan_result: ScanResult, declared: DeclaredContents, placements: Mapping[str, KeyPlacement]
) -> frozenset[TopicPartition]:
    """Return the partitions that may contain uncommitted records, and fail a check of contents or need exact counts."""
    candidates: dict[str, set[int]] = {}
    for read in scan_result.reads:
        counts = scan_result.counts.get(read.topic_partition)
        if counts and may_hold_uncommitted(counts, read.range.end, scan_result.last_stable(read.topic_partition)):
            candidates.setdefault(read.range.topic, set()).add(read.range.partition)
    return frozenset(
        (name, partition)
        for name, partitions in candidates.items()
        for partition in partitions & _failing_partitions(_subject(name, scan_result, declared, placements))
    )


def _subject(
    name: str, scan_result: ScanResult, declared: DeclaredContents, placements: Mapping[str, KeyPlacement]
) -> AuditedTopic:
    """Return the topic for checks of contents, as if every record were committed."""
    live, declaration = scan_result.snapshot.topics[name], declared.declarations.get(name)
    counts = {p: scan_result.counts[name, p] for p in live.extents if (name, p) in scan_result.counts}
    return AuditedTopic(
        snapshot=scan_result.snapshot,
        declared=declaration.topic if declaration else None,
        live=live,
        horizons={},
        counts=counts,
        committed=counts,
        placement=placements.get(name),
        subjects=subjects_of(name, declared.subjects, declared.audited_subjects),
    )


def _failing_partitions(subject: AuditedTopic) -> set[int]:
    """Return the partitions that do not pass every check of contents, or whose committed records a check counts."""
    failing: set[int] = set()
    for check in CHECKS.values():
        view = view_of(check.Required, subject) if issubclass(check.Required, CommittedCounts) else None
        if view is None or not check.applies(view):
            continue
        if isinstance(view, ExactCommitted):
            failing.update(view.counts)
            continue
        for result in check.judge(view):
            if result.verdict is not Verdict.PASS:
                failing.update(view.counts if isinstance(view, EveryPartition) else result.partitions)
    return failing
