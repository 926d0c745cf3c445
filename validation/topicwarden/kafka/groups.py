"""Who reads which topics, and how far: consumer groups and their committed offsets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import GroupAuthorizationFailedError

from topicwarden.kafka.patience import patiently

_CONSUMERS = ("consumer", "streams", "")
"""Protocol types of groups that commit how far they read topics; Connect's workers and share groups do not."""

_STREAMS = "stream"
"""``StreamsPartitionAssignor.PROTOCOL_NAME``; from KIP-1071 on Streams has a protocol type of its own."""

_STREAMS_METADATA = {1: 9, 2: 9}
"""Versions of what Streams commits beside an offset, and the least length (``TopicPartitionMetadata``)."""


@dataclass(frozen=True)
class Group:
    """A consumer group: its state, its members at the moment, and the next offset to read by topic and partition.

    ``assigned`` are the partitions that its members read at the moment. Members and what they read are known of
    groups of the classic protocol only, not of KIP-848's. ``streams`` tells that it is an application of Kafka
    Streams, and its name the application's id.
    """

    name: str
    state: str
    members: int
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)
    assigned: frozenset[tuple[str, int]] = frozenset()
    streams: bool = False
    hidden: bool = False
    """Whether all but its name may not be seen (Describe on the group)."""

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(topic for topic, _ in self.offsets)


def read_groups(admin: KafkaAdminClient, topics: Collection[str]) -> tuple[Group, ...]:
    """The groups that have committed an offset in any of ``topics``, sorted by name, with all their offsets.

    One request a broker to list them, then two a coordinator. Groups that are hidden from this user come last;
    without Describe on the cluster, Kafka itself leaves them out without a word.
    """
    listed = {str(group["group_id"]): group for group in patiently(admin.list_groups)}
    names = sorted(name for name, group in listed.items() if group["protocol_type"] in _CONSUMERS)
    committed = _committed(admin, names) if names else {}
    readers = [name for name, held in sorted(committed.items()) if any(topic in topics for topic, _ in held)]
    described = _described(admin, readers) if readers else {}
    seen = tuple(
        Group(
            name,
            state=str(listed[name].get("group_state") or described.get(name, {}).get("group_state", "")),
            members=len(described.get(name, {}).get("members", ())),
            offsets={place: offset for place, (offset, _) in committed[name].items()},
            assigned=frozenset(_assigned(described.get(name, {}).get("members", ()))),
            streams=listed[name]["protocol_type"] == "streams"
            or described.get(name, {}).get("protocol_data") == _STREAMS
            or any(_of_streams(metadata) for _, metadata in committed[name].values()),
        )
        for name in readers
    )
    return (*seen, *(Group(name, "", 0, hidden=True) for name in names if name not in committed))


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


def _described(admin: KafkaAdminClient, names: list[str]) -> Mapping[str, Any]:
    try:
        return dict(patiently(lambda: admin.describe_groups(names)))
    except ValueError:  # this client decodes what members say of themselves, and some say what is none of Kafka's
        return {}


def _assigned(members: Iterable[Any]) -> Iterable[tuple[str, int]]:
    for member in members:
        assignment = member.get("member_assignment")
        for topic in assignment.get("assigned_partitions", ()) if isinstance(assignment, Mapping) else ():
            yield from ((str(topic["topic"]), int(partition)) for partition in topic["partitions"])


def _of_streams(metadata: str) -> bool:
    """Whether this is what Kafka Streams commits beside an offset: a version, and a time of eight bytes."""
    try:
        told = base64.b64decode(metadata, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(told) and len(told) >= _STREAMS_METADATA.get(told[0], len(told) + 1)
