"""Scan only what earlier audits have not read, combine it with their counts, and save all of it for the next audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.history.key_store import FOLDER, KeyStore
from topicwarden.audit.history.remembered_records import still_present
from topicwarden.audit.history.scan_plan import (
    CLEANED,
    PERHAPS_LATE,
    ScanStep,
    WrittenPart,
    complete_counts,
    known_partition,
    renewed_records,
)
from topicwarden.audit.history.store import FAILURES, HistoryStore, HistoryUnavailable
from topicwarden.audit.history.topic_state import CommittedRead, FoundPairs, KnownPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.merge import counts_by_partition
from topicwarden.audit.scan.partition_reads import DeletedKey, counted_by_key
from topicwarden.audit.scan.reader_notes import LATE
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.message_text import counted
from topicwarden.usage.history_files import part_name


@dataclass(frozen=True)
class IncrementalScan:
    """The counts of all records in the log, read now or by earlier audits.

    ``known``: what the next audit need not read again. ``read``: the number of records that this audit read.
    """

    counts: Mapping[TopicPartition, PartitionCounts]
    known: Mapping[TopicPartition, KnownPartition] = field(default_factory=dict)
    read: int = 0
    horizons: Mapping[TopicPartition, Horizon] = field(default_factory=dict)
    """Horizons with borders lowered to offsets for which the counts are known."""
    notes: tuple[str, ...] = ()
    pairs: Mapping[TopicPartition, FoundPairs] = field(default_factory=dict)
    """The superseded pairs that earlier audits found in partitions whose known records are all in the log."""
    committed: Mapping[TopicPartition, CommittedRead] = field(default_factory=dict)
    """The committed records that earlier audits counted in such partitions."""
    unchanged: frozenset[TopicPartition] = frozenset()
    """The partitions whose records are the same as in the previous audit."""


def scan_since(
    spark: SparkSource,
    connection: Connection,
    steps: list[ScanStep],
    snapshot: Snapshot,
    rules: Contracts,
    *,
    deleted_keys: Iterable[DeletedKey],
    store: HistoryStore,
    rate: int | None,
) -> IncrementalScan | None:
    """Return the result of the incremental scan; None if the history cannot be used.

    If no partition has new records, the counts of the history are the result, without Spark. If the new records show
    that the cleaner has removed known ones, or are late only compared with records that may be deleted, the scan reads
    those partitions again, in full.
    ``rate`` (bytes a second) and ``deleted_keys`` as in ``full_scan.scan``.
    """
    tombstones = list(deleted_keys)

    def scan_steps(steps: list[ScanStep]) -> IncrementalScan:
        return _scan_steps(spark, connection, steps, snapshot, rules, deleted_keys=tombstones, store=store, rate=rate)

    try:
        first = scan_steps(steps)
        renewed = renewed_records(steps, first.counts)
        present = still_present(spark, connection, renewed)
        cleaned = {at for at, records in renewed.items() if not present[at].issuperset(records)}
        reasons = {at: PERHAPS_LATE for at, counts in first.counts.items() if _is_perhaps_late(counts)}
        reasons |= dict.fromkeys(cleaned, CLEANED)
        in_full = {at: step.in_full(reasons[at]) for step in steps if (at := step.read.topic_partition) in reasons}
        again = scan_steps(list(in_full.values())) if in_full else IncrementalScan({})
    except ConnectionError:  # Spark's JVM has ended
        raise
    except (*FAILURES, HistoryUnavailable):
        return None
    remembered = {step.read.topic_partition: step.known for step in steps if step.known}
    unchanged = {
        at: remembered[at] for step in steps if step.unchanged and (at := step.read.topic_partition) in remembered
    }
    return IncrementalScan(
        {**first.counts, **again.counts},
        {**{at: known for at, known in first.known.items() if at not in in_full}, **again.known},
        first.read + again.read,
        {**first.horizons, **again.horizons},
        tuple(_notes(in_full.get(step.read.topic_partition, step) for step in steps)),
        {at: known.pairs for at, known in remembered.items() if at not in in_full and known.pairs is not None},
        {at: known.committed for at, known in unchanged.items() if known.committed is not None},
        frozenset(unchanged),
    )


def _scan_steps(
    spark: SparkSource,
    connection: Connection,
    steps: list[ScanStep],
    snapshot: Snapshot,
    rules: Contracts,
    *,
    deleted_keys: Iterable[DeletedKey],
    store: HistoryStore,
    rate: int | None,
) -> IncrementalScan:
    name = part_name(snapshot.taken_at)
    changed = [step for step in steps if not step.unchanged]
    keys = KeyStore(
        spark,
        store,
        {step.read.range.part: step.stored for step in steps},
        name,
        new_offsets={
            step.read.range.part: step.read.range.size
            for step in changed
            if step.known and counted_by_key(step.read, rules)
        },
        now=snapshot.taken_at,
    )
    if changed:
        found = scan(
            spark(),
            connection,
            [step.read for step in changed],
            snapshot.taken_at,
            rules,
            deleted_keys=deleted_keys,
            earlier_reads=keys,
            counted_before=[step.read for step in steps if step.unchanged],
            rate=rate,
        )
        keys.merge_parts()
    else:
        found = counts_by_partition([step.read for step in steps], keys.known_totals(), rules)
    counts = {
        step.read.topic_partition: complete_counts(step, found[step.read.topic_partition])
        for step in steps
        if step.read.topic_partition in found
    }
    complete = {partition for partition, counted in found.items() if not counted.unread}
    known = {
        step.read.topic_partition: known_partition(
            step,
            counts[step.read.topic_partition],
            snapshot.topics[step.read.range.topic],
            rules,
            WrittenPart(name if changed else None, keys.read[step.read.range.part], keys.totals[step.read.range.part]),
        )
        for step in steps
        if step.read.topic_partition in complete
    }
    horizons = {step.read.topic_partition: step.read.horizon for step in steps}
    return IncrementalScan(counts, known, sum(keys.read.values()), horizons)


def _is_perhaps_late(counts: PartitionCounts) -> bool:
    return any(fault.rule == LATE and fault.undecided for fault in counts.faults)


def _notes(steps: Iterable[ScanStep]) -> Iterable[str]:
    reasons = Counter(step.reason for step in steps if step.reason)
    for reason, number in sorted(reasons.items()):
        yield f"{counted(number, 'partition')} read in full: {reason}"


def stored_part_names(store: HistoryStore) -> frozenset[str]:
    """Return the names of the complete parts in ``keys/``; empty if the history cannot be read."""
    try:
        return frozenset(part.name for part in store.parts(FOLDER))
    except FAILURES:
        return frozenset()
