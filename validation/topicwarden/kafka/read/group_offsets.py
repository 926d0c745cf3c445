"""The offsets of groups: what consumer groups have committed, and from where on share groups (KIP-932) read.

The requests, and what their answers say. kafka-python has no class for the one of share groups.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest

from topicwarden.kafka.read import messages

_STREAMS_METADATA: Final = {1: 9, 2: 9}
"""Minimum length by version of the metadata that Streams commits with an offset (``TopicPartitionMetadata``)."""


def committed_offsets_request(names: list[str], *, several: bool) -> Any:
    """Return the request for all offsets of groups; without ``several`` of one group (before Kafka 3.0, KIP-709)."""
    if not several:
        (name,) = names
        return OffsetFetchRequest(group_id=name, topics=None, min_version=2, max_version=7)
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    return OffsetFetchRequest(groups=groups, min_version=8, max_version=8)


def committed_offsets(group: Any) -> dict[tuple[str, int], tuple[int, str]]:
    """Return offset and metadata of each commit of a group of the answer, by topic and partition."""
    return {
        (topic.name, partition.partition_index): (partition.committed_offset, str(partition.metadata or ""))
        for topic in group.topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.committed_offset >= 0
    }


def is_streams_metadata(metadata: str) -> bool:
    """Return whether ``metadata`` is what Kafka Streams commits with an offset: a version byte and an 8-byte time."""
    if not metadata:
        return False
    try:
        decoded = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(decoded) and len(decoded) >= _STREAMS_METADATA.get(decoded[0], len(decoded) + 1)


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 4.1 and later; ``Topics`` null requests every topic of the group."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the start offset of each share-partition: every record before that offset is settled."""


class ShareGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 4.1 and later."""


class ShareGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the state of each group, its members and their partitions; see ``consumer_group``."""


def share_groups_request(names: list[str]) -> Any:
    """Return the request for the state and the members of share groups."""
    return ShareGroupDescribeRequest(group_ids=names)


def share_offsets_request(names: list[str]) -> Any:
    """Return the request for the start offsets of share groups, of all their topics."""
    group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    return DescribeShareGroupOffsetsRequest(groups=[group(group_id=name, topics=None) for name in names])


def start_offsets(group: Any) -> dict[tuple[str, int], int]:
    """Return the start offset of each (topic, partition) of a group of the answer: all records before it are processed.

    Records from the start offset on may have been acknowledged one by one, so they are an upper bound of the unread
    records.
    """
    return {
        (topic.topic_name, partition.partition_index): partition.start_offset
        for topic in group.topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.start_offset >= 0
    }
