"""Share groups (KIP-932): their requests, which kafka-python has no classes for, and what the answers say."""

from __future__ import annotations

from typing import Any

from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka.read import messages


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
