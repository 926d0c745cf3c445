"""The input and the result of a check, and the protocol that every check implements.

A check refers to a setting by its path in the YAML. Only ``judge.findings`` maps a path to a file and a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.collect.horizon import Horizon, check_interval_ms
from topicwarden.audit.collect.internal_topics import InternalTopic
from topicwarden.audit.history.topic_state import Facts, PreviousAudit
from topicwarden.audit.keys.key_placement import KeyPlacement
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.specs.services.profile import LogCode

Evidence = Mapping[str, int | float | str | None]


@dataclass(frozen=True)
class CheckResult:
    """A verdict on a topic or on some of its partitions, with the reasons.

    ``path`` is the path of the setting in the YAML, such as ``("config", "segment.ms")``. ``partitions`` is empty if
    the verdict concerns the whole topic.

    ``tracked_facts`` are the facts, by partition, that the next audit looks for again. A ``suspect`` can become a
    ``fail`` if the facts are unchanged then, and so are the ``relevant_settings``. A ``pass`` without a message is
    not reported; its tracked facts are remembered.
    """

    verdict: Verdict
    message: str
    path: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)
    tracked_facts: Mapping[int, Facts] = field(default_factory=dict)
    relevant_settings: tuple[str, ...] = ()


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
    """The check compares partitions, so its result depends on the records of every partition.

    It is undecidable if a partition cannot be read.
    """
    judges_placement: bool = False
    """The check judges in which partition a key is, so its result depends on the number of partitions."""
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
    rests_on_apache_log: bool = False
    """The proof of the check rests on Apache Kafka's code for segments, retention and the log cleaner.

    The check is undecidable for topics that another code stores (docs/services.md).
    """
    judges_internal_topics: bool = False
    """The check judges topics that Kafka, Kafka Connect or Kafka Streams created for themselves.

    It is undecidable if only records that this user may not read tell whether the topic is one of these.
    """


class Check(Protocol):
    """A module of ``checks/``. Its docstring is the documentation of the check; ``CHECKS`` has its id."""

    TRAITS: Traits

    def applies(self, subject: AuditedTopic) -> bool:
        """Return whether the check applies to the topic. If it does and has no results, the topic passes."""

    def judge(self, subject: AuditedTopic) -> Iterable[CheckResult]:
        """Yield the results; call this only if ``applies`` is true."""


@dataclass(frozen=True)
class ReadRecords:
    """The offsets ``[start, end)`` that were read of one partition.

    ``log_start`` is the log start offset after all partitions were read.
    """

    start: int
    end: int
    log_start: int

    def lost_offsets(self, records: int) -> int:
        """Return how many offsets retention deleted before they were read; ``records`` were read.

        The number includes all unread offsets before the new log start. Some of these may be gaps that compaction or
        transactions left earlier.
        """
        return min(max(0, self.end - self.start - records), max(0, min(self.log_start, self.end) - self.start))


@dataclass(frozen=True)
class AuditedTopic:
    """One topic under audit: its declaration, its state on the cluster, and the counts of its records."""

    snapshot: Snapshot
    declared: Topic | None
    live: LiveTopic | None
    horizons: Mapping[int, Horizon]
    counts: Mapping[int, PartitionCounts]
    """Counts of all records, by partition. Compaction, retention and disk usage do not depend on transactions."""
    committed: Mapping[int, PartitionCounts]
    """Counts, by partition, of the records that a consumer with ``isolation.level=read_committed`` sees.

    Checks of contents use these. ``PartitionCounts.at_most`` and ``ContentFault.at_most`` mark numbers that may
    include records of aborted and open transactions.
    """
    pairs: Mapping[int, tuple[SupersededPair, ...]] = field(default_factory=dict)
    past: PreviousAudit = field(default_factory=PreviousAudit)
    placement: KeyPlacement | None = None
    read_ranges: Mapping[int, ReadRecords] = field(default_factory=dict)
    """The offsets that were read, by partition."""
    coverage: float = 1.0
    """The share of the offsets, 0 to 1, that this audit reads or knows from the previous audit."""
    internal: InternalTopic | None = None
    """The role of the topic if Kafka, Kafka Connect or Kafka Streams created it, else None."""
    consumer_groups: GroupProgress | None = None
    """The consumer groups with offsets in the topic; None if the groups were not read."""
    readable: bool = True
    """True if this user may read the records (Read on the topic)."""
    change: ChangeDuringAudit | None = None
    """What happened to the topic during the audit."""
    unread: Mapping[int, str] = field(default_factory=dict)
    """Why the records of some partitions could not be read; ``live`` has no extents of them."""

    @property
    def contents(self) -> Contents:
        return self.declared.contents if self.declared else Contents()

    @property
    def compacted(self) -> bool:
        return self.live is not None and self.live.topic.compacted

    @property
    def settings_known(self) -> bool:
        """Return whether the brokers returned the configuration of the topic (DescribeConfigs)."""
        return self.live is not None and bool(self.live.sources)

    @property
    def broker_settings_known(self) -> bool:
        """Return whether the brokers returned their own settings (DescribeConfigs on the Cluster resource)."""
        return bool(self.snapshot.broker_configs)

    @property
    def other_log(self) -> LogCode | None:
        """Return the code that stores the topic's records; None if it is Apache Kafka's."""
        log = self.snapshot.service.log
        if log.apache and log.unless and self.live and self.live.topic.config.get(log.unless[0]) == log.unless[1]:
            return log
        return None if log.apache else log

    @property
    def check_interval_ms(self) -> int | None:
        """Return ``log.retention.check.interval.ms`` of the brokers; None if their settings are not visible."""
        return check_interval_ms(self.snapshot)

    def persisted_ms(self, check: str, partition: int, facts: Facts, relevant_settings: tuple[str, ...]) -> int | None:
        """Return for how long, in milliseconds, every audit has seen these facts under the same settings.

        None if the previous audit did not see them.
        """
        since = self.past.since(check, partition, facts, self.effective_settings(relevant_settings))
        return None if since is None else self.snapshot.taken_at - since

    def effective_settings(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the known values of settings: from the topic, or else from the broker setting of the same name."""
        topic = self.live.topic.config if self.live else {}
        values = {name: topic.get(name, self.snapshot.broker_config.get(name)) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def number(self, setting: str) -> int | None:
        """Return a setting of the live topic as a number; None if its value is not known."""
        return self.live.topic.number(setting) if self.live else None
