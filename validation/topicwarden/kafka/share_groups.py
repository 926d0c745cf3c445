"""How far share groups have read (KIP-932), by a request that kafka-python has no class for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import UnsupportedVersionError
from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka import messages
from topicwarden.kafka.retry import patiently


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Kafka 4.1 and later; ``Topics`` null asks for every topic of the group."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """The share-partition start offset of each partition: every record below it is settled."""


def start_offsets(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, dict[tuple[str, int], int]]:
    """Return the start offset of each (topic, partition) by share group: everything below has been processed.

    Records from there on may have been acknowledged one by one, so that what is unread is at most the rest. Groups
    are left out that this user may not describe, and all of them if the brokers are older than Kafka 4.1.

    Source: ``DescribeShareGroupOffsetsRequest``, KIP-932.
    """
    if not names:
        return {}
    try:
        answers = patiently(lambda: _asked(admin, sorted(names)))
    except UnsupportedVersionError:
        return {}
    return {
        group.group_id: {
            (topic.topic_name, partition.partition_index): partition.start_offset
            for topic in group.topics
            for partition in topic.partitions
            if partition.error_code == 0 and partition.start_offset >= 0
        }
        for answer in answers
        for group in answer.groups
        if group.error_code == 0
    }


def _asked(admin: KafkaAdminClient, names: list[str]) -> list[Any]:
    """Return the answer of each coordinator."""
    manager = admin._manager  # the client has no public way to send a request of one's own
    group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup

    async def send() -> list[Any]:
        coordinators: dict[int, list[str]] = {}
        for name, node in (await admin._find_coordinator_ids(names)).items():
            coordinators.setdefault(node, []).append(name)
        return [
            await manager.send(
                DescribeShareGroupOffsetsRequest(groups=[group(group_id=name, topics=None) for name in held]),
                node_id=node,
            )
            for node, held in coordinators.items()
        ]

    return list(manager.run(send))
