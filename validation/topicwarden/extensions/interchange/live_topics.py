"""Live topics as YAML can declare them: with the settings of the topic itself, without those of its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class DeclarableTopics:
    """The topics that YAML can declare, the reasons why others cannot be declared, and the count of internal topics."""

    topics: Mapping[str, Topic]
    refused: Mapping[str, str]
    internal: int


def declarable_topics(snapshot: Snapshot) -> DeclarableTopics:
    """Classify the topics of a snapshot. The topics' ``config`` has only Kafka's ``DYNAMIC_TOPIC_CONFIG`` entries."""
    topics: dict[str, Topic] = {}
    refused: dict[str, str] = {}
    internal = 0
    for name, live in snapshot.topics.items():
        # Components of the platform create topics that begin with two underscores for their own use.
        if live.topic.internal or name.startswith("__"):
            internal += 1
        elif reason := _refusal(live):
            refused[name] = reason
        else:
            topics[name] = with_own_config(live)
    return DeclarableTopics(topics, refused, internal)


def with_own_config(live: LiveTopic) -> Topic:
    """Return the topic with only the settings of the topic itself."""
    return replace(live.topic, config=live.own_config)


def changed_topics(before: Snapshot, after: Snapshot, names: tuple[str, ...]) -> list[str]:
    """Return those of ``names`` that differ: in a setting or its source, a replica, or the topic's id."""
    return [name for name in names if _state(before.topics.get(name)) != _state(after.topics.get(name))]


def _state(live: LiveTopic | None) -> object:
    if live is None:
        return None
    replicas = [(partition.partition, partition.replicas) for partition in live.replicas]
    return live.id, live.topic, live.sources, replicas


def _refusal(live: LiveTopic) -> str | None:
    replica_counts = {len(partition.replicas) for partition in live.replicas}
    if not live.sources:
        return "its settings cannot be read; grant DescribeConfigs on the topic"
    if any(setting in live.own_config for setting in REPLICAS):
        return "it has a replication throttle; remove the throttle with kafka-configs after the reassignment"
    if len(replica_counts) > 1:
        return (
            f"its partitions have {min(replica_counts)} to {max(replica_counts)} replicas, but YAML has one number; "
            "first give all partitions the same number of replicas"
        )
    return None
