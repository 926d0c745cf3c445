"""Start offsets of share groups (KIP-932), by a request that kafka-python has no class for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import UnsupportedVersionError
from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka.connect.client_internals import send_to_coordinators
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read import messages


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 4.1 and later; ``Topics`` null requests every topic of the group."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the start offset of each share-partition: every record before that offset is settled."""


def start_offsets(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, dict[tuple[str, int], int]]:
    """Return the start offset of each (topic, partition) by share group: all records before it are processed.

    Records from the start offset on may have been acknowledged one by one, so they are an upper bound of the unread
    records. Groups that this user may not describe are left out. Empty if the brokers are older than Kafka 4.1.

    Source: ``DescribeShareGroupOffsetsRequest``, KIP-932.
    """
    if not names:
        return {}
    try:
        answers = retry_transient(lambda: _describe(admin, sorted(names)))
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


def _describe(admin: KafkaAdminClient, names: list[str]) -> list[Any]:
    """Return the response of each coordinator."""
    group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    return send_to_coordinators(
        admin,
        names,
        lambda ids: DescribeShareGroupOffsetsRequest(groups=[group(group_id=name, topics=None) for name in ids]),
    )
