"""Change topics and records of the sandbox behind the declarations, and query its brokers and partitions.

Only the sandbox, the demo and the tests use this module. No command changes settings of a user's cluster with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaError
from kafka.protocol.consumer import OffsetSpec

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.topic_reads import TopicProperties, wait_until_visible
from topicwarden.kafka_facts.services import APACHE

_END: Final = -1
"""The end of a partition in a request to delete records (``DeleteRecordsRequest.HIGH_WATERMARK``)."""


def set_topic(servers: Sequence[str], topic: str, settings: Mapping[str, str]) -> None:
    """Change settings of a topic, like ``kafka-configs.sh`` does, and wait until every broker shows them."""
    with connected(servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(settings))])
        wait_until_visible(admin, {topic: TopicProperties(1, 1, dict(settings))}, APACHE)


def create_topic(
    servers: Sequence[str], topic: str, partitions: int, replication_factor: int, settings: Mapping[str, str]
) -> None:
    """Create a topic, like ``kafka-topics.sh`` does, and wait until every broker shows it."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, partitions, replication_factor, topic_configs=dict(settings))])
        wait_until_visible(admin, {topic: TopicProperties(partitions, replication_factor, dict(settings))}, APACHE)


def delete_topic(servers: Sequence[str], topic: str) -> None:
    """Delete a topic, if there is one of this name."""
    with connected(servers) as admin:
        if topic in admin.list_topics():
            admin.delete_topics([topic])


def set_brokers(servers: Sequence[str], settings: Mapping[str, str]) -> None:
    """Change dynamic settings of every broker."""
    with connected(servers) as admin:
        for broker in admin.describe_cluster()["brokers"]:
            name = str(broker["broker_id"])
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, name, configs=dict(settings))])


def delete_all_records(servers: Sequence[str], topic: str, partition: int) -> None:
    """Delete the records of a partition up to its end, like ``kafka-delete-records.sh`` does."""
    with connected(servers) as admin:
        admin.delete_records({TopicPartition(topic, partition): _END})


def delete_topic_records(servers: Sequence[str], topic: str) -> None:
    """Delete the records of all partitions of ``topic``, which is not compacted."""
    with connected(servers) as admin:
        admin.delete_records(dict.fromkeys(_partitions(admin, topic), _END))


def offset_count(servers: Sequence[str], topic: str) -> int:
    """Return the number of offsets from the log start to the end in all partitions of ``topic``."""
    with connected(servers) as admin:
        partitions = _partitions(admin, topic)
        start, end = (
            sum(each.offset for each in admin.list_partition_offsets(dict.fromkeys(partitions, spec)).values())
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST)
        )
    return int(end - start)


def _partitions(admin: KafkaAdminClient, topic: str) -> list[TopicPartition]:
    (described,) = describe_topics(admin, [topic])
    return [TopicPartition(topic, state["partition_index"]) for state in described["partitions"]]


def has_records(servers: Sequence[str], topic: str) -> bool:
    """Return whether a record was ever written to partition 0 of ``topic``."""
    first = TopicPartition(topic, 0)
    with connected(servers) as admin:
        return bool(admin.list_partition_offsets({first: OffsetSpec.LATEST})[first].offset)


def in_sync_replicas(servers: Sequence[str], topic: str) -> list[tuple[int, frozenset[int]]] | None:
    """Return the leader (-1 for none) and the in-sync replicas of each partition.

    Return None if the broker that received the request does not answer.
    """
    try:
        with connected(servers) as admin:
            (described,) = describe_topics(admin, [topic])
    except KafkaError:
        return None
    return [(state["leader_id"], frozenset(state["isr_nodes"])) for state in described["partitions"]]


def unfenced_brokers(servers: Sequence[str], timeout_s: float) -> set[int]:
    """Return the ids of the brokers that the cluster's metadata lists and that are not fenced.

    Empty if none answers within ``timeout_s`` seconds. A broker that died stays listed until its session times out
    (``broker.session.timeout.ms``).
    """
    timeout_ms = int(timeout_s * 1000)
    timeouts = {"request_timeout_ms": timeout_ms, "bootstrap_timeout_ms": timeout_ms}
    try:
        with connected(servers, client_id="topicwarden-probe", **timeouts) as admin:
            described = admin.describe_cluster()
    except (KafkaError, OSError):
        return set()
    return {broker["broker_id"] for broker in described["brokers"] if not broker.get("is_fenced", False)}
