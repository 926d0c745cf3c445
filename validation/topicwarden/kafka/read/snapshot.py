"""The state of a cluster at one time, as Kafka's Admin interface reports it in a bounded number of requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

from topicwarden.kafka_facts.services import APACHE
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.kafka_facts.topic_names import metric_name
from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class PartitionReplicas:
    """One partition's metadata, by broker id; the first replica is the preferred leader."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader_epoch: int | None = None
    """Counts elections. If two snapshots have the same epoch, the leader did not change between them."""
    eligible: tuple[int, ...] = ()
    """The eligible leader replicas: not in sync, but with every acknowledged record (KIP-966)."""
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment in progress adds (KIP-455)."""
    removing: tuple[int, ...] = ()
    """The replicas that a reassignment in progress removes."""

    @property
    def settled(self) -> tuple[int, ...]:
        """The replicas without those that a reassignment adds: they count for Kafka only when it has ended.

        Source: ``OngoingReassignmentState.replicationFactor``, ``Partition.isUnderReplicated``.
        """
        return tuple(broker for broker in self.replicas if broker not in self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after a reassignment in progress."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


@dataclass(frozen=True)
class TopicIdentity:
    """The id of a topic, and the leader epoch of each partition: they tell whether it is still the same."""

    id: str
    leader_epochs: Mapping[int, int | None]


@dataclass(frozen=True)
class PartitionExtent:
    """One partition's log: offsets, timestamps in milliseconds, and size in bytes.

    ``latest_timestamp`` and ``latest_offset`` are the largest timestamp and its offset (KIP-734, brokers from 3.0).
    They are None for an empty partition, and if the broker does not report them.
    """

    start: int
    end: int
    last_stable: int
    latest_timestamp: int | None
    latest_offset: int | None
    log_bytes: int | None
    replica_bytes: int | None = None
    """The size of the log on all replicas; None if a broker did not report it."""
    moves_between_disks: bool = False
    """Whether the leader moves the log to another of its disks. Until then it neither deletes nor cleans (KIP-113)."""


@dataclass(frozen=True)
class LogDirsAnswer:
    """The brokers' answer to DescribeLogDirs, the request for the sizes of logs (KIP-113).

    ``denied``: this user lacks Describe on the Cluster resource. ``supported`` is False if the cluster has no such
    request. ``errors`` has the error of Kafka's protocol by broker, such as ``KAFKA_STORAGE_ERROR`` of a failed log
    directory: the sizes of the logs in it are unknown.
    """

    denied: bool = False
    supported: bool = True
    errors: Mapping[int, str] = field(default_factory=dict)

    def missing_sizes(self) -> tuple[str, str]:
        """Return why a size is missing, and what to do about it."""
        if self.denied:
            return "this user lacks Describe on the cluster", "grant Describe on the cluster, for DescribeLogDirs"
        if not self.supported:
            return "the cluster does not support DescribeLogDirs", ""
        if self.errors:
            return f"DescribeLogDirs failed: {self.failures}", "check the log directories of these brokers"
        return "the leader changed while the sizes were read", "try again"

    @property
    def failures(self) -> str:
        return ", ".join(f"{error} on broker {broker}" for broker, error in sorted(self.errors.items()))


CORDONED, LOG_DIRS = "cordoned.log.dirs", ("log.dirs", "log.dir")
"""The brokers' settings that say on which log directories a broker takes no new replicas."""

SET_ON_TOPIC = "DYNAMIC_TOPIC_CONFIG"
"""Kafka's ``ConfigSource`` of a setting that is set on the topic itself."""

SET_BY_SERVICE = "SERVICE"
"""The source of a setting that a managed service has set on the topic, in place of Kafka's ``ConfigSource``."""


@dataclass(frozen=True)
class LiveTopic:
    """A topic of the cluster: its effective settings, the source of each setting, and its partitions.

    ``sources`` has Kafka's ``ConfigSource`` by setting, such as ``DYNAMIC_TOPIC_CONFIG``. It is empty if
    DescribeConfigs is denied. ``extents`` lacks partitions without a leader.
    """

    topic: Topic
    id: str
    sources: Mapping[str, str]
    replicas: tuple[PartitionReplicas, ...]
    extents: Mapping[int, PartitionExtent] = field(default_factory=dict)

    @cached_property
    def own_config(self) -> Mapping[str, str]:
        """The settings that are set on the topic itself, not inherited from its brokers."""
        return {name: value for name, value in self.topic.config.items() if self.sources.get(name) == SET_ON_TOPIC}

    def in_sync(self, partition: int) -> tuple[int, ...]:
        """Return the brokers whose replicas of ``partition`` are in sync."""
        return next((state.in_sync for state in self.replicas if state.partition == partition), ())


@dataclass(frozen=True)
class Snapshot:
    """The state of a cluster as the brokers reported it; ``taken_at`` is this machine's clock, in milliseconds.

    ``broker_configs`` has the effective settings by broker. It lacks lost brokers, and is empty if DescribeConfigs on
    the Cluster resource is denied.
    """

    cluster_id: str | None
    taken_at: int
    racks: Mapping[int, str | None]
    broker_configs: Mapping[int, Mapping[str, str]]
    topics: Mapping[str, LiveTopic]
    hidden: frozenset[str] = frozenset()
    """Requested topics for which the brokers do not report whether they exist."""
    other_log_bytes: int = 0
    """The size of the logs of all topics that are not in ``topics``, such as those that this user may not describe.

    0 if the brokers report no sizes; see ``log_dirs``.
    """
    log_dirs: LogDirsAnswer = field(default_factory=LogDirsAnswer)
    cluster_described: bool = True
    """Whether this user may describe the cluster. False if the brokers do not tell.

    Other users see only the consumer groups that are granted one by one (``KafkaApis``, ListGroups).
    """
    reassignments_error: str = ""
    """Why it is not known which replicas reassignments in progress add, such as ``ClusterAuthorizationFailedError``.

    Empty if the cluster listed them, or if no partition moves. ``adding`` and ``removing`` are empty otherwise.
    """
    service: ServiceProfile = APACHE
    """The profile of the managed or compatible service."""
    derived: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What functions derived from this snapshot, by function and setting; see ``effective_defaults``."""

    def without(self, partitions: Collection[tuple[str, int]]) -> Snapshot:
        """Return this snapshot without the extents of some (topic, partition), as if these had no leader."""
        topics = dict(self.topics)
        for name in {name for name, _ in partitions}:
            extents = {number: log for number, log in topics[name].extents.items() if (name, number) not in partitions}
            topics[name] = replace(topics[name], extents=extents)
        return replace(self, topics=topics)

    def without_leader_epochs(self, partitions: Collection[tuple[str, int]]) -> Snapshot:
        """Return this snapshot without the leader epochs of some (topic, partition), whose leader is not settled."""
        topics = dict(self.topics)
        for name in {name for name, _ in partitions}:
            replicas = tuple(
                replace(state, leader_epoch=None) if (name, state.partition) in partitions else state
                for state in topics[name].replicas
            )
            topics[name] = replace(topics[name], replicas=replicas)
        return replace(self, topics=topics)

    @property
    def day(self) -> date:
        """The day (UTC) of the snapshot, which decides whether an allowance has expired."""
        return datetime.fromtimestamp(self.taken_at / 1000, UTC).date()

    @property
    def broker_config(self) -> Mapping[str, str]:
        """The settings of the broker with the lowest id; empty if access to the brokers' settings is denied."""
        return self.broker_configs[min(self.broker_configs)] if self.broker_configs else {}

    @property
    def cordoned(self) -> frozenset[int]:
        """The brokers that take no new replicas; empty if access to the brokers' settings is denied."""
        return cordoned_brokers(self.broker_configs)

    @cached_property
    def by_metric_name(self) -> dict[str, str]:
        """The name of each topic by its name in Kafka's metrics, which no two topics of a cluster share."""
        return {metric_name(name): name for name in self.topics}

    @property
    def leaders(self) -> dict[tuple[str, int], int]:
        """The leader of each (topic, partition) that has a leader."""
        return {
            (name, state.partition): state.leader
            for name, live in self.topics.items()
            for state in live.replicas
            if state.leader is not None
        }

    @property
    def unseen(self) -> tuple[str, ...]:
        """The parts of the cluster that this user may not see, each with the missing permission."""
        denied = [name for name, live in self.topics.items() if not live.sources]
        parts = []
        if denied:
            topics = (
                "1 topic (DescribeConfigs on it)"
                if len(denied) == 1
                else f"{len(denied)} topics (DescribeConfigs on them)"
            )
            parts.append(f"the configuration of {topics}: {', '.join(denied[:5])}")
        if not self.broker_configs:
            parts.append("the brokers' own settings (DescribeConfigs on the Cluster resource)")
        if not self.log_dirs.supported:
            parts.append(f"the sizes of the logs ({self.service.title} does not report them)")
        elif self.log_dirs.denied:
            parts.append("the sizes of the logs (Describe on the Cluster resource)")
        elif self.log_dirs.errors:
            parts.append(f"the sizes of some logs ({self.log_dirs.failures})")
        return tuple(parts)

    def broker_number(self, setting: str, default: int, bound: Callable[[Iterable[int]], int] = max) -> int | None:
        """Return the largest value of a setting on any broker, or with ``bound=min`` the smallest.

        Brokers differ while a setting is rolled out, and a proof must hold for each broker that may have acted. For a
        broker without the setting, ``default`` (Kafka's own) counts.
        None if access to the brokers' settings is denied, or if brokers that are not Apache Kafka's do not have it: the
        effective value is then unknown.
        """
        if not self.broker_configs:
            return None
        values = [settings.get(setting) for settings in self.broker_configs.values()]
        if None in values and not self.service.log.apache:
            return None
        return bound(default if value is None else int(value) for value in values)


def cordoned_brokers(broker_configs: Mapping[int, Mapping[str, str]]) -> frozenset[int]:
    """Return the brokers whose log directories are all cordoned, so that they take no new replicas.

    ``broker_configs`` has settings by broker. Source: KIP-1066, Kafka 4.3.
    """
    return frozenset(broker for broker, settings in broker_configs.items() if _is_cordoned(settings))


def _is_cordoned(settings: Mapping[str, str]) -> bool:
    cordoned = _listed(settings.get(CORDONED))
    return bool(cordoned) and ("*" in cordoned or log_directories(settings) <= cordoned)


def log_directories(settings: Mapping[str, str]) -> set[str]:
    """Return the log directories of a broker by its settings; empty if they do not name any."""
    return next((listed for name in LOG_DIRS if (listed := _listed(settings.get(name)))), set())


def _listed(value: str | None) -> set[str]:
    return {item.strip() for item in (value or "").split(",")} - {""}
