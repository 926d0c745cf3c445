"""Takes the snapshot of a cluster: topics, their settings, replicas and offsets, and the settings of brokers."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaError, UnknownTopicOrPartitionError, UnsupportedVersionError

from topicwarden.kafka.connect.client_internals import describe_topics, forget_controller, from_controller
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.read.cluster_service import service_of, setting_source
from topicwarden.kafka.read.described_configs import Settings, describe_brokers, describe_configs
from topicwarden.kafka.read.partition_extents import read_extents
from topicwarden.kafka.read.snapshot import LiveTopic, LogDirsAnswer, PartitionReplicas, Snapshot
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.topic import Topic

_NO_LEADER = -1
_BEHIND_S, _PAUSE_S = 5.0, 0.2
"""How long a broker may not know of a topic that another one describes."""

_PARTITIONS_AT_ONCE = 2_000
"""Kafka's default of ``max.request.partition.size.limit``."""


def take_snapshot(
    admin: KafkaAdminClient,
    connection: Connection,
    topics: Collection[str] | None,
    expected: Collection[str],
    *,
    extents: bool,
) -> Snapshot:
    """Return the current state of ``topics``; see ``Cluster.snapshot``."""
    cluster = admin.describe_cluster()
    # A lost broker stays registered, and is fenced (KIP-1073).
    alive = [broker for broker in cluster["brokers"] if not broker.get("is_fenced")]
    racks = {broker["broker_id"]: broker["rack"] for broker in alive}
    described = [
        topic
        for topic in describe_topics(admin)
        if topic["error_code"] == 0 and (topics is None or topic["name"] in topics)
    ]
    service = service_of(admin, connection, cluster["cluster_id"])
    settings, deleted = _settings(admin, [topic["name"] for topic in described], service)
    described = [topic for topic in described if topic["name"] not in deleted]
    at_risk = [str(topic["name"]) for topic in described if any(map(_lacks_replicas, topic["partitions"]))]
    eligible = eligible_leaders(admin, at_risk)
    reassigned, reassignments_error = reassignments(admin) if at_risk else ({}, "")
    replicas = {topic["name"]: _replicas(topic, eligible, reassigned) for topic in described}
    read, sizes, log_dirs = read_extents(admin, replicas, list(racks)) if extents else ({}, {}, None)
    return Snapshot(
        cluster_id=cluster["cluster_id"],
        taken_at=int(time.time() * 1000),
        racks=racks,
        broker_configs=_broker_settings(admin, racks),
        topics={
            topic["name"]: LiveTopic(
                topic=_live_topic(topic["name"], replicas[topic["name"]], settings.get(topic["name"], {})),
                id=str(topic.get("topic_id")),
                sources={name: source for name, (_, source) in settings.get(topic["name"], {}).items()},
                replicas=replicas[topic["name"]],
                extents=read.get(topic["name"], {}),
            )
            for topic in sorted(described, key=lambda topic: str(topic["name"]))
        },
        hidden=_hidden(admin, {*expected} - replicas.keys()),
        other_log_bytes=_other_log_bytes(sizes, replicas),
        reassignments_error=reassignments_error,
        service=service,
        log_dirs=log_dirs or LogDirsAnswer(),
        cluster_described=_cluster_described(cluster, log_dirs, service),
    )


def _cluster_described(cluster: Mapping[str, Any], log_dirs: LogDirsAnswer | None, service: ServiceProfile) -> bool:
    """Return whether brokers let this user describe the cluster: Kafka says so (KIP-430), or they list log directories.

    ``log_dirs`` is None if they were not asked.
    """
    granted = service.log.apache and "DESCRIBE" in (cluster.get("authorized_operations") or ())
    return granted or (log_dirs is not None and log_dirs.supported and not log_dirs.denied)


def _hidden(admin: KafkaAdminClient, names: Collection[str]) -> frozenset[str]:
    """Return the ``names`` for which Kafka does not report that the topic is missing.

    Kafka returns TOPIC_AUTHORIZATION_FAILED both for a hidden topic and for a topic that does not exist.
    """
    described = describe_topics(admin, sorted(names))
    missing = UnknownTopicOrPartitionError.errno
    return frozenset(str(topic["name"]) for topic in described if topic["error_code"] != missing)


def reassignments(admin: KafkaAdminClient) -> tuple[dict[tuple[str, int], Mapping[str, Any]], str]:
    """Return the reassignments in progress (KIP-455) by (topic, partition), and the name of the error.

    The error is empty if the cluster lists them. This takes Describe on the Cluster resource. A partition is out of
    sync while it moves: the change that adds the last replica to the in-sync replicas also ends the reassignment
    (``PartitionChangeBuilder.completeReassignmentIfNeeded`` of the controller).
    """
    forget_controller(admin)  # the one that the client knows may be lost
    try:
        listed = retry_transient(lambda: from_controller(admin, admin.list_partition_reassignments))
    except KafkaError as error:
        return {}, type(error).__name__
    return {(partition.topic, partition.partition): state for partition, state in listed.items()}, ""


def _settings(
    admin: KafkaAdminClient, names: Collection[str], service: ServiceProfile
) -> tuple[dict[str, Settings], frozenset[str]]:
    """Return the settings in force of each topic, and the topics that were deleted since they were described.

    A topic whose settings this user may not read has none.
    """
    described: dict[str, Settings | KafkaError] = {}
    unknown, until = list(names), time.monotonic() + _BEHIND_S
    while True:
        described |= describe_configs(admin, ConfigResourceType.TOPIC, dict.fromkeys(unknown))
        unknown = [name for name in unknown if isinstance(described.get(name), UnknownTopicOrPartitionError)]
        if not unknown or time.monotonic() > until:
            break
        time.sleep(_PAUSE_S)
    settings = {
        topic: {name: (value, setting_source(service, name, value, source)) for name, (value, source) in found.items()}
        for topic, found in described.items()
        if not isinstance(found, KafkaError)
    }
    return settings, frozenset(unknown) - _hidden(admin, unknown)


def _broker_settings(admin: KafkaAdminClient, brokers: Iterable[int]) -> dict[int, dict[str, str]]:
    return {
        broker: {name: value for name, (value, _) in settings.items() if value is not None}
        for broker, settings in describe_brokers(admin, brokers).items()
        if settings
    }


def _other_log_bytes(sizes: Mapping[tuple[str, int, int], int], topics: Collection[str]) -> int:
    """Return the size of the logs that belong to none of ``topics``; of each partition, that of its largest replica."""
    largest: dict[tuple[str, int], int] = {}
    for (name, partition, _), size in sizes.items():
        if name not in topics:
            largest[name, partition] = max(size, largest.get((name, partition), 0))
    return sum(largest.values())


def _lacks_replicas(state: Mapping[str, Any]) -> bool:
    return state["leader_id"] == _NO_LEADER or len(state["isr_nodes"]) < len(state["replica_nodes"])


def _replicas(
    topic: Mapping[str, Any],
    eligible: Mapping[tuple[str, int], tuple[int, ...]],
    reassigned: Mapping[tuple[str, int], Mapping[str, Any]],
) -> tuple[PartitionReplicas, ...]:
    def moving(state: Mapping[str, Any], key: str) -> tuple[int, ...]:
        return tuple(sorted(reassigned.get((topic["name"], state["partition_index"]), {}).get(key, ())))

    states = sorted(topic["partitions"], key=lambda state: int(state["partition_index"]))
    return tuple(
        PartitionReplicas(
            partition=state["partition_index"],
            leader=None if state["leader_id"] == _NO_LEADER else state["leader_id"],
            replicas=tuple(state["replica_nodes"]),
            in_sync=tuple(sorted(state["isr_nodes"])),
            leader_epoch=state.get("leader_epoch"),
            eligible=eligible.get((topic["name"], state["partition_index"]), ()),
            adding=moving(state, "adding_replicas"),
            removing=moving(state, "removing_replicas"),
        )
        for state in states
    )


def _live_topic(
    name: str, replicas: tuple[PartitionReplicas, ...], settings: Mapping[str, tuple[str | None, str]]
) -> Topic:
    """Return the topic with its settings in force; its replication factor is that of the least replicated partition."""
    return Topic(
        name=name,
        partitions=len(replicas),
        replication_factor=min(len(state.replicas) for state in replicas),
        config={key: value for key, (value, _) in settings.items() if value is not None},
    )


def eligible_leaders(admin: KafkaAdminClient, topics: Collection[str]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the brokers by (topic, partition) that are not in sync, but have every acknowledged record (KIP-966).

    Partitions without such brokers are left out. Empty if the brokers are older than Kafka 3.7 or run on ZooKeeper, or
    if the cluster does not have the feature ``eligible.leader.replicas.version``.
    """
    eligible: dict[tuple[str, int], tuple[int, ...]] = {}
    cursor: Any = None
    while topics:
        try:
            answer = admin.describe_topic_partitions(sorted(topics), _PARTITIONS_AT_ONCE, cursor)
        except UnsupportedVersionError:
            return {}
        eligible |= {
            (topic["name"], state["partition_index"]): tuple(sorted(state["eligible_leader_replicas"]))
            for topic in answer["topics"]
            for state in topic["partitions"]
            if state["eligible_leader_replicas"]
        }
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    return eligible
