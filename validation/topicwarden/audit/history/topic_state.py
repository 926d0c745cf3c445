"""What an audit remembers of a topic, and what the next one asks of it; plain values, so that checks need no Spark.

A topic is known by its cluster and its id: one that was deleted and created again under its name has no past.
Keys are remembered as 64-bit hashes (``xxhash64``), values not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SHAPING = ("cleanup.policy", "segment.ms", "segment.bytes", "max.compaction.lag.ms")
"""Settings that decide where segments end, as a log keeps the shape that they gave it."""

Facts = Mapping[str, int]


@dataclass(frozen=True)
class Checkpoint:
    """How many records lay below an offset, the bytes of their keys and values, and of how many keys they were."""

    offset: int
    records: int
    payload_bytes: int
    keys: int


@dataclass(frozen=True)
class KnownPartition:
    """What is known of a partition's records, so that they need not be read again; see ``keys``."""

    parts: tuple[str, ...]
    """The parts of the history that hold its groups, the oldest first."""
    read: tuple[int, ...]
    """How many records each of them tells of."""
    terms: str
    """A digest of what its records were judged by."""
    start: int
    """Where the log began."""
    faulty: bool
    """Whether the reader noted any fault: notes cannot be taken back where records have gone."""
    null_keys: int
    checkpoints: tuple[Checkpoint, ...]
    """In the order of their offsets; the last one is where the log ended."""

    totals: str
    """What was counted of all keys, as JSON; see ``totals``."""

    @property
    def end(self) -> int:
        return self.checkpoints[-1].offset


@dataclass(frozen=True)
class PartitionState:
    """A partition's log at one moment; offsets as Kafka counts them, ``None`` where the brokers did not say."""

    partition: int
    start: int
    end: int
    last_stable: int
    log_bytes: int | None
    leader: int | None
    leader_epoch: int | None
    shaped_from: int
    """Records from this offset on were written under the ``SHAPING`` settings of today, as far as audits saw."""
    known: KnownPartition | None = None


@dataclass(frozen=True)
class OpenFinding:
    """What would be a ``fail`` if ``facts`` still held at a later look, with ``settings`` unchanged."""

    check: str
    partition: int
    verdict: str
    """What the audit said of it: a ``pass`` where it only has to be remembered."""
    since: int
    """When it was first seen, in milliseconds; it has been seen at every look since."""
    facts: Facts
    settings: Mapping[str, str]


@dataclass(frozen=True)
class RememberedRecord:
    """A record that stood, by its key's hash: part of a pair, or one that a cleaning must remove."""

    partition: int
    offset: int
    key: int
    superseded_by: int | None
    """The offset of a later record of its key; None for a record that has none, such as a tombstone."""


@dataclass(frozen=True)
class KnownTombstone:
    """A key that was seen deleted: the tombstone at ``offset`` was its last record."""

    partition: int
    offset: int
    key: int


@dataclass(frozen=True)
class TopicState:
    """One topic, as one audit saw it. ``since`` tells for each setting from which look on it had its value."""

    cluster_id: str
    topic: str
    topic_id: str
    taken_at: int
    settings: Mapping[str, str]
    since: Mapping[str, int]
    partitions: tuple[PartitionState, ...]
    suspicions: tuple[OpenFinding, ...] = ()
    witnesses: tuple[RememberedRecord, ...] = ()
    tombstones: tuple[KnownTombstone, ...] = ()

    def partition(self, number: int) -> PartitionState | None:
        return next((look for look in self.partitions if look.partition == number), None)

    def suspicion(self, check: str, partition: int) -> OpenFinding | None:
        return next((one for one in self.suspicions if (one.check, one.partition) == (check, partition)), None)


@dataclass(frozen=True)
class PreviousAudit:
    """What a check may know of a topic's past.

    ``standing`` are the remembered records that were found again, at their offsets and with their keys.
    """

    look: TopicState | None = None
    recreated_from: str | None = None
    """The topic's id at the last look, where that was another."""
    standing: frozenset[RememberedRecord] = frozenset()

    def since(self, check: str, partition: int, facts: Facts, settings: Mapping[str, str]) -> int | None:
        """From when on the same was seen, under the same settings; None where it was not seen last time."""
        seen = self.look.suspicion(check, partition) if self.look else None
        same = seen is not None and seen.facts == facts and seen.settings == settings
        return seen.since if seen is not None and same else None

    def partition(self, number: int) -> PartitionState | None:
        return self.look.partition(number) if self.look else None

    def shaped_from(self, partition: int) -> int | None:
        """From which offset on the shaping settings are known; None where nothing was seen before."""
        seen = self.partition(partition)
        return seen.shaped_from if seen else None
