"""The topics of a cluster as YAML would declare them: what is set on each topic itself, and nothing of its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class DeclarableTopic:
    """The topics that YAML can declare, why others cannot be declared as they are, and how many are internal."""

    topics: Mapping[str, Topic]
    refused: Mapping[str, str]
    internal: int


def declarable(snapshot: Snapshot) -> DeclarableTopic:
    """Sorts the topics of a snapshot; of each, ``config`` holds Kafka's ``DYNAMIC_TOPIC_CONFIG`` alone."""
    topics: dict[str, Topic] = {}
    refused: dict[str, str] = {}
    internal = 0
    for name, live in snapshot.topics.items():
        # Whatever begins with two underscores is made by a part of the platform for itself.
        if live.topic.internal or name.startswith("__"):
            internal += 1
        elif why := _refused(live):
            refused[name] = why
        else:
            topics[name] = own(live)
    return DeclarableTopic(topics, refused, internal)


def own(live: LiveTopic) -> Topic:
    """The topic with what is set on itself."""
    return replace(live.topic, config=live.own_config)


def untouched(before: Snapshot, after: Snapshot, names: tuple[str, ...]) -> list[str]:
    """Those of ``names`` of which anything differs: a setting or where it comes from, a replica, the topic's id."""
    return [name for name in names if _fixed(before.topics.get(name)) != _fixed(after.topics.get(name))]


def _fixed(live: LiveTopic | None) -> object:
    return live and (live.id, live.topic, live.sources, [(one.partition, one.replicas) for one in live.replicas])


def _refused(live: LiveTopic) -> str | None:
    counts = {len(one.replicas) for one in live.replicas}
    if not live.sources:
        return "its settings may not be read; grant DescribeConfigs on it"
    if any(setting in live.own_config for setting in REPLICAS):
        return "a throttle of a replica move is set on it; when the move is over, remove it with kafka-configs"
    if len(counts) > 1:
        return f"its partitions have {min(counts)} to {max(counts)} replicas, and YAML has one number; even that out"
    return None
