"""The state of a topic that an audit saves for the next one, as plain values, so that checks need no Spark.

A topic is identified by its cluster and its topic id: a topic that was deleted and created again with the same name has
no earlier state. The history has 64-bit hashes (``xxhash64``) of keys, and no values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.key_placement import KeyPlacement

SHAPING = ("cleanup.policy", "segment.ms", "segment.bytes", "max.compaction.lag.ms")
"""Settings that decide where segments end. A change does not affect the segments that were rolled before."""

Facts = Mapping[str, int]


@dataclass(frozen=True)
class Checkpoint:
    """Counts of all records before an offset: records, bytes of their keys and values, and distinct keys."""

    offset: int
    records: int
    payload_bytes: int
    keys: int


@dataclass(frozen=True)
class FoundPairs:
    """The superseded pairs among the offsets ``[start, end)``."""

    start: int
    end: int
    pairs: tuple[SupersededPair, ...]


@dataclass(frozen=True)
class CommittedRead:
    """The counts of the committed records among the offsets ``[start, end)``. Ages and borders are of that audit."""

    start: int
    end: int
    counts: PartitionCounts


@dataclass(frozen=True)
class KnownPlacement:
    """The placement of the committed keys in ``ranges``: partition, start and end; see ``known_placements.py``."""

    ranges: tuple[tuple[int, int, int], ...]
    terms: str
    """A digest of the rules by which the keys were judged."""
    placement: KeyPlacement


@dataclass(frozen=True)
class PartitionGrowth:
    """The number of a topic's partitions, and the time (ms) of the first audit that saw it.

    ``ends``: by partition, the first log end that an audit saw at least ``margin`` (ms) later; see
    ``partition_growth.py``.
    """

    partitions: int
    since: int
    margin: int = 0
    ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownPartition:
    """The counts of a partition's records, so that the next audit need not read them again; see ``key_store.py``."""

    parts: tuple[str, ...]
    """The parts of the history that contain its groups, the oldest first."""
    read: tuple[int, ...]
    """How many records were read for each of these parts."""
    terms: str
    """A digest of the rules by which its records were judged."""
    start: int
    """The log start offset."""
    faulty: bool
    """Whether the reader noted a fault; faults cannot be subtracted when records are deleted."""
    null_keys: int
    checkpoints: tuple[Checkpoint, ...]
    """Checkpoints by ascending offset; the last one is at the end of the log."""

    totals: str
    """The totals of all keys, as JSON; see ``KeyTotals``."""
    pairs: FoundPairs | None = None
    """What the audit found that searched for superseded pairs; None if none did."""
    committed: CommittedRead | None = None
    """The counts of committed records, if an audit counted all of them; see ``committed_evidence.py``."""

    @property
    def end(self) -> int:
        return self.checkpoints[-1].offset


@dataclass(frozen=True)
class PartitionState:
    """A partition's log at the time of an audit; a value is None if the brokers did not report it."""

    partition: int
    start: int
    end: int
    last_stable: int
    log_bytes: int | None
    leader: int | None
    leader_epoch: int | None
    shaped_from: int
    """Records from this offset on were written under the current ``SHAPING`` settings, as far as audits know."""
    known: KnownPartition | None = None


@dataclass(frozen=True)
class OpenFinding:
    """A finding that becomes a ``fail`` if a later audit sees the same ``facts`` and ``settings``."""

    check: str
    partition: int
    verdict: str
    """The verdict of the audit; ``pass`` if the facts only have to be saved."""
    since: int
    """The time in milliseconds of the first audit that saw it; every audit since has seen it."""
    facts: Facts
    settings: Mapping[str, str]
    revision: int = 1
    """The revision of the check (``check_revisions.py``)."""


@dataclass(frozen=True)
class RememberedRecord:
    """A record that the next audit looks up: part of a superseded pair, or a record that cleaning must remove."""

    partition: int
    offset: int
    key: int
    """The 64-bit hash of the key."""
    superseded_by: int | None
    """The offset of a later record with the same key; None for the last record of a key, such as a tombstone."""


@dataclass(frozen=True)
class KnownTombstone:
    """A deleted key: the tombstone at ``offset`` was the last record of the key.

    ``leader_epoch``: the last one in which the leader's log certainly contained the tombstone, or had contained it
    before a cleaning. None in the states of earlier versions: such a tombstone proves nothing.
    """

    partition: int
    offset: int
    key: int
    """The 64-bit hash of the key."""
    leader_epoch: int | None = None


@dataclass(frozen=True)
class KnownUnread:
    """A committed record that an audit saw, and that a group had not read; see ``known_unread.py``.

    ``committed``: the group's committed offset in the last audit that saw it. ``leader_epoch``: that of the partition
    when the record was seen, at the time ``seen`` (ms). ``gone``: an audit under this leader found the log start after
    the record, and the group's committed offset not after it.
    """

    group: str
    partition: int
    committed: int
    offset: int
    leader_epoch: int
    seen: int
    gone: bool = False


@dataclass(frozen=True)
class TopicState:
    """The state of one topic in one audit.

    ``taken_at``: the time of the audit in milliseconds. ``since``: for each setting, the time of the first audit that
    saw its current value.
    """

    cluster_id: str
    topic: str
    topic_id: str
    taken_at: int
    settings: Mapping[str, str]
    since: Mapping[str, int]
    partitions: tuple[PartitionState, ...]
    open_findings: tuple[OpenFinding, ...] = ()
    remembered_records: tuple[RememberedRecord, ...] = ()
    tombstones: tuple[KnownTombstone, ...] = ()
    key_placement: KnownPlacement | None = None
    """The placement of its keys, if an audit read them again. States of earlier versions have other conclusions."""
    growth: PartitionGrowth | None = None
    """None in the states of earlier versions."""
    unread: tuple[KnownUnread, ...] = ()
    """The first unread records of groups; empty in the states of earlier versions."""

    def partition(self, number: int) -> PartitionState | None:
        return next((state for state in self.partitions if state.partition == number), None)

    def open_finding(self, check: str, partition: int) -> OpenFinding | None:
        return next(
            (finding for finding in self.open_findings if (finding.check, finding.partition) == (check, partition)),
            None,
        )


@dataclass(frozen=True)
class PreviousAudit:
    """The earlier state of a topic, for checks.

    ``state`` is None in a first audit. ``still_present``: the remembered records that are still at their offsets, with
    their keys.
    """

    state: TopicState | None = None
    recreated_from: str | None = None
    """The topic's id in the previous audit, if it was another id."""
    still_present: frozenset[RememberedRecord] = frozenset()

    def since(self, check: str, partition: int, facts: Facts, settings: Mapping[str, str]) -> int | None:
        """Return the time (ms) since which audits have seen the same facts under the same settings.

        None if the previous audit did not see them.
        """
        previous = self.state.open_finding(check, partition) if self.state else None
        same = previous is not None and previous.facts == facts and previous.settings == settings
        return previous.since if previous is not None and same else None

    def partition(self, number: int) -> PartitionState | None:
        return self.state.partition(number) if self.state else None
