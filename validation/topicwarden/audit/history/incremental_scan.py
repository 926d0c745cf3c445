"""The scan of an audit that knows what the last one read: the rest is read, and the whole is remembered anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.collect.horizon import Horizon, PartitionOf
from topicwarden.audit.contents.contracts import Contracts
from topicwarden.audit.history.key_store import FOLDER, KeyStore
from topicwarden.audit.history.scan_plan import ScanStep, WrittenPart, completed, now_known
from topicwarden.audit.history.store import HistoryStore, Unreadable, part_name
from topicwarden.audit.history.topic_state import KnownPartition
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.partition_reads import Grave
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import Snapshot


@dataclass(frozen=True)
class IncrementalScan:
    """The counts of everything that stands, what the next audit may rely on, and how many records were read for it."""

    counts: Mapping[PartitionOf, PartitionCounts]
    known: Mapping[PartitionOf, KnownPartition] = field(default_factory=dict)
    read: int = 0
    horizons: Mapping[PartitionOf, Horizon] = field(default_factory=dict)
    """Borders that were lowered to where it is known what lies below."""
    notes: tuple[str, ...] = ()


def scan_since(
    spark: SparkSession,
    connection: Connection,
    steps: list[ScanStep],
    snapshot: Snapshot,
    rules: Contracts,
    *,
    buried: Iterable[Grave],
    store: HistoryStore,
    rate: int | None,
) -> IncrementalScan | None:
    """Reads what the steps leave to read; None where the history was not what it had to be."""
    name = part_name(snapshot.taken_at)
    new = sum(step.slice.range.size for step in steps if step.known)
    keys = KeyStore(spark, store, {step.slice.range.part: step.held for step in steps}, name, new)
    parts = [step.slice for step in steps]
    try:
        found = scan(
            spark,
            connection,
            parts,
            snapshot.taken_at,
            rules,
            buried=buried,
            remembering=keys,
            rate=rate,
        )
        keys.tidy()
    except (PySparkException, Py4JJavaError, Unreadable):
        return None
    counts = {step.slice.place: completed(step, found[step.slice.place]) for step in steps if step.slice.place in found}
    known = {
        step.slice.place: now_known(
            step,
            counts[step.slice.place],
            snapshot.topics[step.slice.range.topic],
            rules,
            WrittenPart(name, keys.read[step.slice.range.part], keys.totals[step.slice.range.part]),
        )
        for step in steps
        if step.slice.place in counts
    }
    horizons = {step.slice.place: step.slice.horizon for step in steps}
    return IncrementalScan(counts, known, sum(keys.read.values()), horizons, tuple(_told(steps)))


def _told(steps: Iterable[ScanStep]) -> Iterable[str]:
    reasons = Counter(step.why for step in steps if step.why)
    for why, number in sorted(reasons.items()):
        yield f"{number:,} partition{'s' if number > 1 else ''} read in full: {why}"


def held_parts(store: HistoryStore) -> frozenset[str]:
    """The parts of keys that the history holds; none where it cannot be read."""
    try:
        return frozenset(part.name for part in store.parts(FOLDER))
    except (PySparkException, Py4JJavaError):
        return frozenset()
