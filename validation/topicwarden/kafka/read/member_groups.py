"""Describes the two kinds of consumer groups: classic groups, and those of KIP-848."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import UnsupportedVersionError
from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka.connect.client_internals import send_to_coordinators
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read import messages

_STREAMS = "stream"
"""``StreamsPartitionAssignor.PROTOCOL_NAME``, for Streams applications in classic groups."""


@dataclass(frozen=True)
class GroupDescription:
    """The state of a group, the number of its members, and the (topic, partition) pairs that they read now.

    ``streams`` is true if the members are of a Kafka Streams application.
    """

    state: str
    members: int
    assigned: frozenset[tuple[str, int]]
    streams: bool


class ConsumerGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 3.7 and later, by which brokers describe groups of the new protocol only."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the state of each group, and the assignment of each member."""


def describe_classic_groups(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, GroupDescription]:
    """Return the classic groups among ``names``, by name. Groups that this user may not describe are left out.

    Empty if the brokers do not offer the request, as some services.

    Source: ``DescribeGroupsRequest``, and ``ConsumerProtocolAssignment`` in each member's assignment.
    """
    if not names:
        return {}
    try:
        described = retry_transient(lambda: admin.describe_groups(sorted(names)))
    except UnsupportedVersionError:
        return {}
    return {
        name: GroupDescription(
            group["group_state"],
            len(group["members"]),
            frozenset(_assigned(member["member_assignment"] for member in group["members"])),
            streams=group["protocol_data"] == _STREAMS,
        )
        for name, group in described.items()
        if group["error"] is None
    }


def _assigned(assignments: Iterable[Mapping[str, Any] | bytes]) -> Iterator[tuple[str, int]]:
    for assignment in assignments:
        if isinstance(assignment, Mapping):  # else empty, or not in the format of consumers
            for topic in assignment["assigned_partitions"]:
                yield from ((topic["topic"], partition) for partition in topic["partitions"])


def describe_consumer_groups(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, GroupDescription]:
    """Return the KIP-848 consumer groups among ``names``, by name. Groups of another kind are left out.

    Groups that this user may not describe are left out, too. Empty if the brokers are older than Kafka 3.7.

    Source: ``ConsumerGroupDescribeRequest``, KIP-848.
    """
    if not names:
        return {}
    try:
        answers = retry_transient(
            lambda: send_to_coordinators(admin, names, lambda ids: ConsumerGroupDescribeRequest(group_ids=ids))
        )
    except UnsupportedVersionError:
        return {}
    return {
        group.group_id: GroupDescription(
            group.group_state,
            len(group.members),
            frozenset(
                (topic.topic_name, partition)
                for member in group.members
                for topic in member.assignment.topic_partitions
                for partition in topic.partitions
            ),
            streams=False,
        )
        for answer in answers
        for group in answer.groups
        if group.error_code == 0
    }
