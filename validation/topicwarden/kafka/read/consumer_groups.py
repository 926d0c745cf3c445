"""Consumer groups, share groups and their committed offsets: who reads which topics, and how far."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import GroupAuthorizationFailedError

from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read.member_groups import GroupDescription, describe_classic_groups, describe_consumer_groups
from topicwarden.kafka.read.share_groups import start_offsets
from topicwarden.kafka.read.streams_groups import describe_streams_groups

_WITHOUT_MEMBERS = ("Empty", "Dead")

_STREAMS_PROTOCOL = "streams"
"""Protocol type of streams groups (KIP-1071)."""

_CONSUMERS = ("consumer", _STREAMS_PROTOCOL, "")
"""Protocol types of groups that commit offsets of topics; Kafka Connect's workers and share groups do not."""

_CONNECT = "connect"
"""Protocol type of the group of Kafka Connect's workers (``WorkerGroupMember``)."""

_SHARE = "share"
"""Protocol type and group type of share groups (KIP-932)."""

_CONSUMER = "consumer"
"""Group type of consumer groups with the protocol of KIP-848."""

_STREAMS_METADATA = {1: 9, 2: 9}
"""Minimum length by version of the metadata that Streams commits with an offset (``TopicPartitionMetadata``)."""


@dataclass(frozen=True)
class ConsumerGroup:
    """A consumer group: its state, its current members, and the next offset to read by topic and partition.

    ``assigned`` are the partitions that its members read now. ``streams`` is true for a Kafka Streams application; the
    group name is then the application id. ``hidden`` is true if only the name is known: this user lacks Describe on the
    group, or the coordinator does not report what an active group reads. ``members`` is None if the group was not
    described.
    """

    name: str
    state: str
    members: int | None
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    assigned: frozenset[tuple[str, int]] = frozenset()
    streams: bool = False
    hidden: bool = False
    share: bool = False
    """True for a share group (KIP-932). Its offsets are start offsets: records from there on are not all settled."""

    @property
    def topics(self) -> frozenset[str]:
        """The topics for which the group has committed offsets, or which it reads now."""
        return frozenset(topic for topic, _ in (*self.offsets, *self.assigned))


def read_groups(admin: KafkaAdminClient, topics: Collection[str]) -> tuple[ConsumerGroup, ...]:
    """Return the groups that have committed an offset in any of ``topics``, or read one now, with all their offsets.

    Groups are sorted by name. Share groups come after them, including those whose topics are unknown. Hidden groups
    come last. Sends one list request per broker, then three requests per coordinator. Without Describe on the Cluster
    resource, Kafka leaves groups out without an error.
    """
    listed = {str(group["group_id"]): group for group in retry_transient(admin.list_groups)}
    names = sorted(
        name for name, group in listed.items() if group["protocol_type"] in _CONSUMERS and not _is_share_group(group)
    )
    committed = _committed(admin, names) if names else {}
    readers = {name for name, offsets in committed.items() if any(topic in topics for topic, _ in offsets)}
    active = {name for name in committed if str(listed[name].get("group_state") or "") not in _WITHOUT_MEMBERS}
    described = _described(admin, {name: listed[name] for name in readers | active})
    groups = (
        _group(name, str(listed[name]["protocol_type"]), committed[name], described.get(name))
        for name in sorted(committed)
        if name in readers or name in active
    )
    matching = tuple(group for group in groups if not group.topics.isdisjoint(topics))
    unseen = {*(active - described.keys() - readers), *(name for name in names if name not in committed)}
    hidden = (ConsumerGroup(name, "", None, hidden=True) for name in sorted(unseen))
    shares = (group for group in _share_groups(admin, listed) if not group.offsets or group.topics & {*topics})
    return (*matching, *shares, *hidden)


def has_connect_workers(admin: KafkaAdminClient) -> bool:
    """Return whether this user sees a group of Kafka Connect's workers."""
    return any(group["protocol_type"] == _CONNECT for group in retry_transient(admin.list_groups))


def _share_groups(admin: KafkaAdminClient, listed: Mapping[str, Mapping[str, Any]]) -> Iterator[ConsumerGroup]:
    names = sorted(name for name, group in listed.items() if _is_share_group(group))
    offsets = start_offsets(admin, names)
    for name in names:
        state = str(listed[name].get("group_state") or "")
        yield ConsumerGroup(name, state, None, offsets=offsets.get(name, {}), share=True)


def _is_share_group(group: Mapping[str, Any]) -> bool:
    return _SHARE in (group["protocol_type"], _group_type(group))


def _group_type(group: Mapping[str, Any]) -> str:
    """Return the group type in lower case; empty if the broker does not report it (before Kafka 3.8)."""
    return str(group.get("group_type") or "").lower()


def _group(
    name: str,
    protocol: str,
    committed: Mapping[tuple[str, int], tuple[int, str]],
    described: GroupDescription | None,
) -> ConsumerGroup:
    return ConsumerGroup(
        name,
        state=described.state if described else "",
        members=described.members if described else None,
        offsets={partition: offset for partition, (offset, _) in committed.items()},
        assigned=described.assigned if described else frozenset(),
        streams=protocol == _STREAMS_PROTOCOL
        or (described is not None and described.streams)
        or any(_is_streams_metadata(metadata) for _, metadata in committed.values()),
    )


def _committed(admin: KafkaAdminClient, names: list[str]) -> dict[str, dict[tuple[str, int], tuple[int, str]]]:
    """Return offset and metadata of each commit. If a group is denied, ask again for each group on its own."""
    try:
        responses = retry_transient(lambda: admin.list_group_offsets(names))
    except GroupAuthorizationFailedError:
        if len(names) == 1:
            return {}
        return {name: offsets for group in names for name, offsets in _committed(admin, [group]).items()}
    return {
        name: {
            (partition.topic, partition.partition): (commit.offset, str(commit.metadata or ""))
            for partition, commit in offsets.items()
            if commit.offset >= 0
        }
        for name, offsets in responses.items()
    }


def _described(admin: KafkaAdminClient, listed: Mapping[str, Mapping[str, Any]]) -> dict[str, GroupDescription]:
    """Return the described groups among ``listed``, by name; hidden groups are left out."""
    streams = {name for name, group in listed.items() if group["protocol_type"] == _STREAMS_PROTOCOL}
    consumer = {name for name, group in listed.items() if _group_type(group) == _CONSUMER} - streams
    return {
        **(describe_streams_groups(admin, streams) if streams else {}),
        **describe_consumer_groups(admin, consumer),
        **describe_classic_groups(admin, listed.keys() - streams - consumer),
    }


def _is_streams_metadata(metadata: str) -> bool:
    """Return whether ``metadata`` is what Kafka Streams commits with an offset: a version byte and an 8-byte time."""
    try:
        decoded = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(decoded) and len(decoded) >= _STREAMS_METADATA.get(decoded[0], len(decoded) + 1)
