"""What is asked of contents beyond the scan: which findings are of committed records, and who placed the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.contents.contracts import Contracts, build_contracts
from topicwarden.audit.keys.key_placement import KeyPlacement
from topicwarden.audit.keys.key_scan import TopicKeys, key_placements
from topicwarden.audit.scan.committed import committed_counts, may_hold_uncommitted
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.schema_registry import SchemaRegistry
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.model.topic import Contents
from topicwarden.model.verdict import Verdict
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class DeclaredContents:
    """What is declared of records: by topic, with the project's folder for the files it names, the registry, and the
    Python functions that may be imported.
    """

    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    root: Path = Path()
    registry: SchemaRegistry | None = None
    partition_functions: frozenset[str] = frozenset()

    def contracts(self, topics: Iterable[LiveTopic], now: int) -> Contracts:
        """What the scan of ``topics`` is to judge records by; ``now`` in milliseconds."""
        return build_contracts(topics, self.declarations, self.root, self.registry, now)

    def contents(self, topic: str) -> Contents:
        declaration = self.declarations.get(topic)
        return declaration.topic.contents if declaration else Contents()


@dataclass(frozen=True)
class ScanResult:
    """What was scanned: topics of a snapshot, the parts of them that were read, and what was counted."""

    snapshot: Snapshot
    topics: tuple[LiveTopic, ...]
    parts: tuple[PartitionRead, ...]
    counts: Mapping[TopicPartition, PartitionCounts]

    def last_stable(self, place: TopicPartition) -> int:
        return self.snapshot.topics[place[0]].extents[place[1]].last_stable

    @property
    def stable_parts(self) -> list[PartitionRead]:
        """The parts that were counted, up to the last stable offset."""
        return [
            replace(part, range=replace(part.range, end=min(part.range.end, self.last_stable(part.topic_partition))))
            for part in self.parts
            if part.topic_partition in self.counts
        ]


def settled(
    spark: SparkSession,
    connection: Connection,
    scanned: ScanResult,
    rules: Contracts,
    declared: DeclaredContents,
    *,
    rate: int | None = None,
) -> tuple[dict[TopicPartition, PartitionCounts], dict[str, KeyPlacement]]:
    """The counts of committed records, and the conclusion on each topic whose keys were counted.

    Reads nothing again of a topic that is in order. ``rate`` as in ``scan``.
    """
    counts, stable = scanned.counts, scanned.stable_parts
    keys = [
        TopicKeys(
            live.topic.name,
            live.topic.partitions,
            declared.contents(live.topic.name),
            {p: counts[live.topic.name, p] for p in live.extents if (live.topic.name, p) in counts},
            tuple(
                part.range
                for part in stable
                if part.range.topic == live.topic.name and part.range.start < part.range.end
            ),
        )
        for live in scanned.topics
        if live.topic.name in rules.by_key
    ]
    placed = key_placements(spark, connection, keys, declared.root, declared.partition_functions)
    doubtful = _doubtful(scanned, declared, placed)
    again = [part for part in stable if part.topic_partition in doubtful]
    now = scanned.snapshot.taken_at
    return {**counts, **committed_counts(spark, connection, again, counts, contracts=rules, now=now, rate=rate)}, placed


def _doubtful(
    scanned: ScanResult, declared: DeclaredContents, placed: Mapping[str, KeyPlacement]
) -> frozenset[TopicPartition]:
    """The partitions that may hold uncommitted records, and of which a check of contents would say something."""
    uncertain: dict[str, set[int]] = {}
    for part in scanned.parts:
        counts = scanned.counts.get(part.topic_partition)
        if counts and may_hold_uncommitted(counts, part.range.end, scanned.last_stable(part.topic_partition)):
            uncertain.setdefault(part.range.topic, set()).add(part.range.partition)
    return frozenset(
        (name, partition)
        for name, partitions in uncertain.items()
        for partition in partitions & _concerned(_subject(name, scanned, declared, placed))
    )


def _subject(
    name: str, scanned: ScanResult, declared: DeclaredContents, placed: Mapping[str, KeyPlacement]
) -> AuditedTopic:
    """The topic as checks of contents would see it, if every record were committed."""
    live, declaration = scanned.snapshot.topics[name], declared.declarations.get(name)
    counts = {p: scanned.counts[name, p] for p in live.extents if (name, p) in scanned.counts}
    return AuditedTopic(
        snapshot=scanned.snapshot,
        declared=declaration.topic if declaration else None,
        live=live,
        horizons={},
        counts=counts,
        committed=counts,
        placement=placed.get(name),
    )


def _concerned(subject: AuditedTopic) -> set[int]:
    """The partitions whose contents are judged to be anything but in order."""
    found: set[int] = set()
    for check in CHECKS.values():
        judges = check.TRAITS.judges_committed_records and check.applies(subject)
        for judgement in check.judge(subject) if judges else ():
            if judgement.verdict is not Verdict.PASS:
                found.update(subject.counts if check.TRAITS.compares_partitions else judgement.partitions)
    return found
