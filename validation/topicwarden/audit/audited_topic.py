"""One topic under audit: everything that is known of it, as plain values without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.collect.horizon import Horizon, check_interval_ms
from topicwarden.audit.collect.internal_topics import InternalTopic
from topicwarden.audit.history.topic_state import SHAPING, Facts, PreviousAudit
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.record_comparison import ComparedRecords
from topicwarden.kafka.read.group_lags import GroupLag
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka_facts.services.profile import LogCode
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic
from topicwarden.model.usage import TopicUse
from topicwarden.usage.use_context import UseContext


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
    """One topic under audit: its declaration, its state on the cluster, and the counts of its records.

    Anything that may be missing is None. Checks receive a topic with the evidence that they require (``evidence.py``).
    """

    snapshot: Snapshot
    declared: Topic | None
    live: LiveTopic | None
    horizons: Mapping[int, Horizon]
    counts: Mapping[int, PartitionCounts] | None
    """Counts of all records, by partition; None if this user may not read the topic.

    Compaction, retention and disk usage do not depend on transactions.
    """
    committed: Mapping[int, PartitionCounts] | None
    """Counts, by partition, of the records that a consumer with ``isolation.level=read_committed`` sees.

    None if this user may not read the topic. Checks of contents use these. ``PartitionCounts.at_most`` and
    ``ContentFault.at_most`` mark numbers that may include records of aborted and open transactions.
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
    group_lags: Mapping[str, GroupLag] | None = None
    """What each group has not read of the topic; None if the groups or the records were not read."""
    change: ChangeDuringAudit | None = None
    """What happened to the topic during the audit."""
    unread: Mapping[int, str] = field(default_factory=dict)
    """Why the records of some partitions could not be read; ``live`` has no extents of them."""
    use: TopicUse | None = None
    """Who uses the topic, from this and all earlier observations; None if the topic is not in the snapshot."""
    previous_use: TopicUse | None = None
    """The same without this observation; None if no earlier one saw a topic with this id."""
    may_be_undeclared: bool = False
    """Whether no project declares the topics of the cluster."""
    use_context: UseContext | None = None
    """What explains the use of topics; None if no check of use is requested."""

    compared: Mapping[str, ComparedRecords] | None = None
    """What rules found that compare records, by the name of the rule; None if no rule was applied."""

    subjects: Mapping[str, AuditedSubject] = field(default_factory=dict)
    """The subjects that the YAML declares for the ``key`` and the ``value``, as the Schema Registry has them."""

    @property
    def share_read(self) -> str:
        """Return ``coverage`` as text."""
        return f"{self.coverage:.2%}".replace(".00%", "%")

    @property
    def contents(self) -> Contents:
        return self.declared.contents if self.declared else Contents()

    @property
    def readable(self) -> bool:
        """Return whether this user may read the records (Read on the topic)."""
        return self.counts is not None

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

    def partition_counts(self, partition: int) -> PartitionCounts | None:
        """Return the counts of all records of a partition; None if the partition was not read."""
        return None if self.counts is None else self.counts.get(partition)

    def persisted_ms(self, check: str, partition: int, facts: Facts, relevant_settings: tuple[str, ...]) -> int | None:
        """Return for how long, in milliseconds, every audit has seen these facts under the same settings.

        None if the previous audit did not see them.
        """
        since = self.past.since(check, partition, facts, self.effective_settings(relevant_settings))
        return None if since is None else self.snapshot.taken_at - since

    def shaped_from(self, partition: int) -> int | None:
        """Return the offset from which on records were written under the current ``SHAPING`` settings, as audits know.

        None if no earlier audit saw the partition. If a setting has changed since, this audit is the first that sees
        it, and nothing in the log is known to have been written under it.
        """
        before, extent = self.past.partition(partition), self.live.extents.get(partition) if self.live else None
        if before is None or extent is None or self.live is None or self.past.state is None:
            return None
        settings, earlier = self.live.topic.config, self.past.state.settings
        unchanged = all(earlier.get(name) == settings.get(name) for name in SHAPING)
        return min(before.shaped_from, extent.end) if unchanged else extent.end

    def effective_settings(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the known values of settings: from the topic, or else from the broker setting of the same name."""
        topic = self.live.topic.config if self.live else {}
        values = {name: topic.get(name, self.snapshot.broker_config.get(name)) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def number(self, setting: str) -> int | None:
        """Return a setting of the live topic as a number; None if its value is not known."""
        return self.live.topic.number(setting) if self.live else None
