"""Who reads which topics, and how far: consumer groups and their committed offsets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._group import ConsumerGroupDescription
from kafka import KafkaAdminClient
from kafka.errors import GroupAuthorizationFailedError

from topicwarden.kafka.connection import Connection
from topicwarden.kafka.retry import patiently
from topicwarden.kafka.share_groups import start_offsets

_TIMEOUT_S = 20.0
_WITHOUT_MEMBERS = ("Empty", "Dead")

_CONSUMERS = ("consumer", "streams", "")
"""Protocol types of groups that commit how far they read topics; Connect's workers and share groups do not."""

_SHARE = "share"
"""Protocol type and type of share groups (KIP-932)."""

_STREAMS = "stream"
"""``StreamsPartitionAssignor.PROTOCOL_NAME``; from KIP-1071 on Streams has a protocol type of its own."""

_STREAMS_METADATA = {1: 9, 2: 9}
"""Versions of what Streams commits beside an offset, and the least length (``TopicPartitionMetadata``)."""


@dataclass(frozen=True)
class ConsumerGroup:
    """A consumer group: its state, its members at the moment, and the next offset to read by topic and partition.

    ``assigned`` are the partitions that its members read at the moment. ``streams`` tells that it is an application
    of Kafka Streams, and its name the application's id. ``hidden`` tells that only its name is known: this user may not
    see more (Describe on the group), or the coordinator does not tell what an active group reads. ``members`` is None
    if the group was not described.
    """

    name: str
    state: str
    members: int | None
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    assigned: frozenset[tuple[str, int]] = frozenset()
    streams: bool = False
    hidden: bool = False
    share: bool = False
    """Whether it is a share group (KIP-932): its offsets are where the records begin that are not settled yet."""

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics that it has committed offsets for, or reads at the moment."""
        return frozenset(topic for topic, _ in (*self.offsets, *self.assigned))


def read_groups(admin: KafkaAdminClient, connection: Connection, topics: Collection[str]) -> tuple[ConsumerGroup, ...]:
    """Return the groups that have committed an offset in any of ``topics``, or read one now, with all their offsets.

    They are sorted by name; share groups come after them, also those of which nobody tells what they read, and hidden
    groups last. One request a broker to list them, then three a coordinator. Without Describe on the cluster, Kafka
    itself leaves groups out without an error.
    """
    listed = {str(group["group_id"]): group for group in patiently(admin.list_groups)}
    names = sorted(
        name for name, group in listed.items() if group["protocol_type"] in _CONSUMERS and not _shares(group)
    )
    committed = _committed(admin, names) if names else {}
    readers = {name for name, held in committed.items() if any(topic in topics for topic, _ in held)}
    active = {name for name in committed if str(listed[name].get("group_state") or "") not in _WITHOUT_MEMBERS}
    described = _described(connection, readers | active)
    groups = (
        _group(name, str(listed[name]["protocol_type"]), committed[name], described.get(name))
        for name in sorted(committed)
        if name in readers or name in active
    )
    found = tuple(group for group in groups if not group.topics.isdisjoint(topics))
    unseen = {*(active - described.keys() - readers), *(name for name in names if name not in committed)}
    hidden = (ConsumerGroup(name, "", None, hidden=True) for name in sorted(unseen))
    shares = (group for group in _share_groups(admin, listed) if not group.offsets or group.topics & {*topics})
    return (*found, *shares, *hidden)


def _share_groups(admin: KafkaAdminClient, listed: Mapping[str, Mapping[str, Any]]) -> Iterator[ConsumerGroup]:
    names = sorted(name for name, group in listed.items() if _shares(group))
    offsets = start_offsets(admin, names)
    for name in names:
        state = str(listed[name].get("group_state") or "")
        yield ConsumerGroup(name, state, None, offsets=offsets.get(name, {}), share=True)


def _shares(group: Mapping[str, Any]) -> bool:
    return _SHARE in (group["protocol_type"], str(group.get("group_type") or "").lower())


def _group(
    name: str,
    protocol: str,
    committed: Mapping[tuple[str, int], tuple[int, str]],
    described: ConsumerGroupDescription | None,
) -> ConsumerGroup:
    members = described.members if described else []
    return ConsumerGroup(
        name,
        state=_state(described) if described else "",
        members=len(members) if described else None,
        offsets={place: offset for place, (offset, _) in committed.items()},
        assigned=frozenset(
            (place.topic, place.partition)
            for member in members
            if member.assignment
            for place in member.assignment.topic_partitions
        ),
        streams=protocol == "streams"
        or (described is not None and described.partition_assignor == _STREAMS)
        or any(_of_streams(metadata) for _, metadata in committed.values()),
    )


def _state(described: ConsumerGroupDescription) -> str:
    """Return Kafka's own name of a state, such as ``PreparingRebalance``."""
    return "".join(word.capitalize() for word in described.state.name.split("_"))


def _committed(admin: KafkaAdminClient, names: list[str]) -> dict[str, dict[tuple[str, int], tuple[int, str]]]:
    """Offset and metadata of each commit; asked again for one group after the other where one may not be seen."""
    try:
        answers = patiently(lambda: admin.list_group_offsets(names))
    except GroupAuthorizationFailedError:
        if len(names) == 1:
            return {}
        return {name: held for one in names for name, held in _committed(admin, [one]).items()}
    return {
        name: {
            (place.topic, place.partition): (at.offset, str(at.metadata or ""))
            for place, at in held.items()
            if at.offset >= 0
        }
        for name, held in answers.items()
    }


def _described(connection: Connection, names: Collection[str]) -> dict[str, ConsumerGroupDescription]:
    """Return members and state of groups of the classic protocol and of KIP-848's; hidden ones are left out."""
    if not names:
        return {}
    admin = AdminClient({**connection.for_librdkafka()})  # it polls as long as it is referred to
    futures = admin.describe_consumer_groups(sorted(names), request_timeout=_TIMEOUT_S)
    found: dict[str, ConsumerGroupDescription] = {}
    for name, future in futures.items():
        # Not visible to this user, of another kind, such as KIP-1071's, or of a coordinator that does not answer.
        with suppress(KafkaException, TimeoutError):
            found[name] = future.result(_TIMEOUT_S + 1)
    del admin
    return found


def _of_streams(metadata: str) -> bool:
    """Whether this is what Kafka Streams commits beside an offset: a version, and a time of eight bytes."""
    try:
        told = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(told) and len(told) >= _STREAMS_METADATA.get(told[0], len(told) + 1)
