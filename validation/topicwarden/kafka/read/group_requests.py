"""The members and the offsets of groups: the requests, and what their answers say.

Classic groups, and the groups of KIP-848, share groups (KIP-932) and streams groups (KIP-1071). kafka-python has no
classes for the requests of the last two.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_data import ApiData
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

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


Decoded = TypeVar("Decoded", bound=ApiData)

_STREAMS = "stream"
"""``StreamsPartitionAssignor.PROTOCOL_NAME``, for Streams applications in classic groups."""


@dataclass(frozen=True)
class GroupDescription:
    """The state of a group, the number of its members, and the (topic, partition) pairs that they read now.

    ``streams`` is true if the members are of a Kafka Streams application. ``hosts`` are the addresses of the members.
    """

    state: str
    members: int
    assigned: frozenset[tuple[str, int]]
    streams: bool
    hosts: frozenset[str] = frozenset()
    subscribed: frozenset[str] = frozenset()
    """The topics to which members subscribe by name, as far as brokers report it."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 3.7 and later, by which brokers describe groups of the new protocol only (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the state of each group, and the assignment of each member."""


def classic_groups_request(names: list[str]) -> Any:
    """Return the request for the state and the members of classic groups (``DescribeGroupsRequest``)."""
    return DescribeGroupsRequest(groups=names, include_authorized_operations=False, min_version=0)


def classic_group(group: Any) -> GroupDescription:
    """Return a group of the answer. Metadata and assignments in another format than that of consumers are ignored."""
    subscriptions = _decoded(ConsumerProtocolSubscription, (member.member_metadata for member in group.members))
    assignments = _decoded(ConsumerProtocolAssignment, (member.member_assignment for member in group.members))
    return GroupDescription(
        group.group_state,
        len(group.members),
        frozenset(
            (str(topic.topic), int(partition))
            for assignment in assignments
            for topic in assignment.assigned_partitions
            for partition in topic.partitions
        ),
        streams=group.protocol_data == _STREAMS,
        hosts=host_addresses(member.client_host for member in group.members),
        subscribed=frozenset(str(topic) for subscription in subscriptions for topic in subscription.topics),
    )


def _decoded(kind: type[Decoded], members: Iterable[bytes]) -> Iterator[Decoded]:
    for content in members:
        try:
            if content:
                yield kind.decode(content)
        except (struct.error, ValueError):  # any client may join with any bytes
            continue


def consumer_groups_request(names: list[str]) -> Any:
    """Return the request for the state and the members of KIP-848 groups."""
    return ConsumerGroupDescribeRequest(group_ids=names)


def consumer_group(group: Any) -> GroupDescription:
    """Return a group of the answer to ``ConsumerGroupDescribeRequest``, or to that for share groups."""
    return GroupDescription(
        group.group_state,
        len(group.members),
        frozenset(
            (topic.topic_name, partition)
            for member in group.members
            for topic in member.assignment.topic_partitions
            for partition in topic.partitions
        ),
        streams=False,
        hosts=host_addresses(member.client_host for member in group.members),
        subscribed=frozenset(name for member in group.members for name in member.subscribed_topic_names or ()),
    )


def host_addresses(client_hosts: Iterable[str]) -> frozenset[str]:
    """Return the addresses in ``client_hosts``, which brokers write as ``/10.0.0.7`` (``InetAddress.toString``)."""
    return frozenset(host.rpartition("/")[2] for host in client_hosts if host)


class StreamsGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 4.1 and later."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the topology of each group, its members and their tasks."""


def streams_groups_request(names: list[str]) -> Any:
    """Return the request for the topology and the members of streams groups."""
    return StreamsGroupDescribeRequest(group_ids=names)


def streams_group(group: Any) -> GroupDescription:
    """Return a group of the answer."""
    sources = {topic for topics in _sources(group).values() for topic in topics}
    return GroupDescription(
        group.group_state,
        len(group.members),
        frozenset(_assigned(group)),
        streams=True,
        hosts=host_addresses(member.client_host for member in group.members),
        subscribed=frozenset(sources) if group.members else frozenset(),
    )


def _assigned(group: Any) -> Iterator[tuple[str, int]]:
    """Yield the partitions of the active tasks: a task reads its partition of every source topic."""
    sources = _sources(group)
    for member in group.members:
        for task in member.assignment.active_tasks:
            for topic in sources.get(task.subtopology_id, ()):
                yield from ((topic, partition) for partition in task.partitions)


def _sources(group: Any) -> dict[str, tuple[str, ...]]:
    """Return the source topics of each subtopology, by its id."""
    subtopologies = (group.topology.subtopologies or ()) if group.topology else ()
    return {
        each.subtopology_id: (*each.source_topics, *(topic.name for topic in each.repartition_source_topics))
        for each in subtopologies
    }
