"""What a check sees, and what it says. A check names a path of the YAML; only ``run`` knows lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from topicwarden.audit.collect.cluster_context import GroupFollowing
from topicwarden.audit.collect.horizon import CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS, Horizon
from topicwarden.audit.collect.internal_topics import InternalTopic
from topicwarden.audit.history.topic_state import Facts, PreviousAudit
from topicwarden.audit.keys.key_placement import KeyPlacement
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.model.topic import Contents, Topic
from topicwarden.model.verdict import Verdict

Evidence = Mapping[str, int | float | str | None]


@dataclass(frozen=True)
class CheckResult:
    """A verdict with its reasons; ``path`` leads to the YAML that it is about, such as ``("config", "segment.ms")``.

    ``standing`` is what the next audit has to see again, by partition, and ``rests_on`` the settings that have
    to stay as they are until then: so a ``suspect`` becomes a ``fail``. A pass without a message that has
    something standing is remembered, and not reported.
    """

    verdict: Verdict
    message: str
    path: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)
    standing: Mapping[int, Facts] = field(default_factory=dict)
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traits:
    """The properties of a check that decide how an audit handles evidence that is missing or incomplete.

    Each check declares its own as ``TRAITS``.
    """

    reads_records: bool = False
    """The check judges the records themselves.

    It is undecidable for partitions that cannot be read, and for topics that this user may not read.
    """
    judges_committed_records: bool = False
    """The check judges records that a consumer reading committed sees (``AuditedTopic.committed``).

    Partitions that may fail the check are read again if they may hold uncommitted records.
    """
    compares_partitions: bool = False
    """The check compares partitions, so its result depends on the records of every partition."""
    needs_every_record: bool = False
    """The check judges shares of all records, so it is undecidable if only a part of them was read."""
    needs_settings: bool = False
    """The topic's configuration decides whether the check applies.

    The check is undecidable if the brokers do not return the configuration (DescribeConfigs).
    """
    needs_previous_audit: bool = False
    """The check judges compacted topics, and compares them with the previous audit.

    It is undecidable if there was a previous audit and the brokers do not return the configuration.
    """
    judges_internal_topics: bool = False
    """The check judges topics that Kafka, Kafka Connect or Kafka Streams created for themselves.

    It is undecidable if only records that this user may not read tell whether the topic is one of these.
    """


class Check(Protocol):
    """A module of ``checks/``: its docstring is its documentation, its name in the table its id."""

    TRAITS: Traits

    def applies(self, subject: AuditedTopic) -> bool:
        """Whether there is anything to judge; if so, and nothing is said, the topic passes."""

    def judge(self, subject: AuditedTopic) -> Iterable[CheckResult]: ...


@dataclass(frozen=True)
class ReadRecords:
    """What was read of one partition: offsets ``[start, end)``, and where its log began when all was read."""

    start: int
    end: int
    log_start: int

    def lost(self, records: int) -> int:
        """Offsets that retention took before they were read; ``records`` are those that were read.

        What lies below the log's new start and was not read; where single records are missing anyway (compaction,
        transactions), some of those may be among them.
        """
        return min(max(0, self.end - self.start - records), max(0, min(self.log_start, self.end) - self.start))


@dataclass(frozen=True)
class AuditedTopic:
    """One topic under audit: as declared, as it is on the cluster, and what its records were found to be."""

    snapshot: Snapshot
    declared: Topic | None
    live: LiveTopic | None
    horizons: Mapping[int, Horizon]
    counts: Mapping[int, PartitionCounts]
    """By partition, of every record that stands: compaction, retention and disks know no transactions."""
    committed: Mapping[int, PartitionCounts]
    """By partition, the counts of records that a consumer with ``isolation.level=read_committed`` sees.

    Checks of contents judge these. ``PartitionCounts.at_most`` and ``ContentFault.at_most`` mark numbers that may
    include records of aborted and open transactions.
    """
    pairs: Mapping[int, tuple[SupersededPair, ...]] = field(default_factory=dict)
    past: PreviousAudit = field(default_factory=PreviousAudit)
    placement: KeyPlacement | None = None
    reading: Mapping[int, ReadRecords] = field(default_factory=dict)
    coverage: float = 1.0
    """The share of the offsets that was to be read, or is known from the last audit."""
    internal: InternalTopic | None = None
    """What the topic is for, where Kafka, Connect or Streams made it."""
    following: GroupFollowing | None = None
    """The groups that read it; None where nobody asked."""
    readable: bool = True
    """Whether this user may read its records (Read on the topic)."""

    @property
    def contents(self) -> Contents:
        return self.declared.contents if self.declared else Contents()

    @property
    def compacted(self) -> bool:
        return self.live is not None and self.live.topic.compacted

    @property
    def settings_known(self) -> bool:
        """Whether the brokers told the topic's configuration (DescribeConfigs)."""
        return self.live is not None and bool(self.live.sources)

    @property
    def broker_settings_known(self) -> bool:
        """Return whether the brokers told their own settings (DescribeConfigs on the Cluster resource)."""
        return bool(self.snapshot.broker_configs)

    @property
    def check_interval_ms(self) -> int | None:
        """Return how often the brokers look for what may be deleted; None if their settings may not be seen."""
        return self.snapshot.broker_number(CHECK_INTERVAL, DEFAULT_CHECK_INTERVAL_MS)

    def stood_for(self, check: str, partition: int, facts: Facts, rests_on: tuple[str, ...]) -> int | None:
        """For how long (ms) each look has seen these facts, under the same settings; None where the last did not."""
        since = self.past.since(check, partition, facts, self.in_force(rests_on))
        return None if since is None else self.snapshot.taken_at - since

    def in_force(self, settings: tuple[str, ...]) -> dict[str, str]:
        """The values of some settings: the topic's, and else the broker's of that name."""
        topic = self.live.topic.config if self.live else {}
        known = {name: topic.get(name, self.snapshot.broker_config.get(name)) for name in settings}
        return {name: value for name, value in known.items() if value is not None}

    def number(self, setting: str) -> int | None:
        return self.live.topic.number(setting) if self.live else None
