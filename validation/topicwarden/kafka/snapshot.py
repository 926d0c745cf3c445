"""The cluster at one moment: everything that Kafka's Admin interface says of it, in a bounded number of requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class PartitionReplicas:
    """One partition's metadata: broker ids, the first replica being the preferred leader."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader_epoch: int | None = None
    """Counts elections: the same one at two moments means the same leader all the time between."""


@dataclass(frozen=True)
class PartitionExtent:
    """One partition's log: offsets as Kafka counts them, timestamps in milliseconds.

    ``latest`` is the largest timestamp and its offset (KIP-734, brokers from 3.0); None for an
    empty partition and where the broker does not say.
    """

    start: int
    end: int
    last_stable: int
    latest_timestamp: int | None
    latest_offset: int | None
    log_bytes: int | None


SET_ON_TOPIC = "DYNAMIC_TOPIC_CONFIG"
"""Kafka's ``ConfigSource`` of what was set on the topic itself."""


@dataclass(frozen=True)
class LiveTopic:
    """A topic of the cluster: its settings in force, where each comes from, and its partitions.

    ``sources`` names Kafka's ``ConfigSource`` by setting, such as ``DYNAMIC_TOPIC_CONFIG``; it is
    empty where DescribeConfigs was not granted. ``extents`` lacks partitions without a leader.
    """

    topic: Topic
    id: str
    sources: Mapping[str, str]
    replicas: tuple[PartitionReplicas, ...]
    extents: Mapping[int, PartitionExtent] = field(default_factory=dict)

    @property
    def own_config(self) -> dict[str, str]:
        """What is set on the topic itself, and not taken from its brokers."""
        return {name: value for name, value in self.topic.config.items() if self.sources.get(name) == SET_ON_TOPIC}

    def in_sync(self, partition: int) -> tuple[int, ...]:
        """Return the brokers whose replicas of ``partition`` are in sync."""
        return next((state.in_sync for state in self.replicas if state.partition == partition), ())


@dataclass(frozen=True)
class Snapshot:
    """What the brokers said; ``taken_at`` is this machine's clock, in milliseconds.

    ``broker_configs`` has the settings in force by broker; it lacks brokers that are lost, and is empty where
    DescribeConfigs on the Cluster resource is not granted.
    """

    cluster_id: str | None
    taken_at: int
    racks: Mapping[int, str | None]
    broker_configs: Mapping[int, Mapping[str, str]]
    topics: Mapping[str, LiveTopic]
    hidden: frozenset[str] = frozenset()
    """Of the names that were asked for: those of which the brokers do not tell whether they exist."""

    @property
    def day(self) -> date:
        """Return the day (UTC) on which it was taken: by it permits run out."""
        return datetime.fromtimestamp(self.taken_at / 1000, UTC).date()

    @property
    def broker_config(self) -> Mapping[str, str]:
        """Return the settings of the broker with the lowest id; empty where no broker's may be seen."""
        return self.broker_configs[min(self.broker_configs)] if self.broker_configs else {}

    @property
    def leaders(self) -> dict[tuple[str, int], int]:
        """Return the broker that leads each (topic, partition) that has a leader."""
        return {
            (name, state.partition): state.leader
            for name, live in self.topics.items()
            for state in live.replicas
            if state.leader is not None
        }

    @property
    def unseen(self) -> tuple[str, ...]:
        """What this user may not see, and the right that is missing."""
        mute = [name for name, live in self.topics.items() if not live.sources]
        held = [extent for live in self.topics.values() for extent in live.extents.values()]
        said = []
        if mute:
            topics = (
                "1 topic (DescribeConfigs on it)" if len(mute) == 1 else f"{len(mute)} topics (DescribeConfigs on them)"
            )
            said.append(f"the configuration of {topics}: {', '.join(mute[:5])}")
        if not self.broker_configs:
            said.append("the brokers' own settings (DescribeConfigs on the Cluster resource)")
        if held and all(extent.log_bytes is None for extent in held):
            said.append("the sizes of the logs (Describe on the Cluster resource)")
        return tuple(said)

    @property
    def cluster_described(self) -> bool:
        """Return whether this user may describe the cluster, as the brokers tell sizes of logs to no one else.

        Who may not is told only of the consumer groups that are granted one by one (``KafkaApis``, ListGroups).
        """
        sizes = [extent.log_bytes for live in self.topics.values() for extent in live.extents.values()]
        return not sizes or any(size is not None for size in sizes)

    def broker_number(self, setting: str, default: int) -> int | None:
        """Return a broker's setting as a whole number, and Kafka's default if the broker has no such setting.

        None if no broker's settings may be seen: what is in force is then not known, and may be any value.
        """
        if not self.broker_configs:
            return None
        value = self.broker_config.get(setting)
        return default if value is None else int(value)
