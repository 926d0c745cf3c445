"""Describes streams groups (KIP-1071), by a request that kafka-python has no class for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import UnsupportedVersionError
from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka.connect.client_internals import send_to_coordinators
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read import messages
from topicwarden.kafka.read.member_groups import GroupDescription


class StreamsGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Request of Kafka 4.1 and later."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    """Response with the topology of each group, its members and their tasks."""


def describe_streams_groups(admin: KafkaAdminClient, names: Collection[str]) -> dict[str, GroupDescription]:
    """Return the streams groups among ``names``, by name.

    Groups that this user may not describe are left out. Empty if the brokers are older than Kafka 4.1.

    Source: ``StreamsGroupDescribeRequest``, KIP-1071.
    """
    try:
        answers = retry_transient(
            lambda: send_to_coordinators(admin, names, lambda ids: StreamsGroupDescribeRequest(group_ids=ids))
        )
    except UnsupportedVersionError:
        return {}
    return {
        group.group_id: GroupDescription(
            group.group_state, len(group.members), frozenset(_assigned(group)), streams=True
        )
        for answer in answers
        for group in answer.groups
        if group.error_code == 0
    }


def _assigned(group: Any) -> Iterator[tuple[str, int]]:
    """Yield the partitions of the active tasks: a task reads its partition of every source topic."""
    subtopologies = (group.topology.subtopologies or ()) if group.topology else ()
    sources = {
        each.subtopology_id: (*each.source_topics, *(topic.name for topic in each.repartition_source_topics))
        for each in subtopologies
    }
    for member in group.members:
        for task in member.assignment.active_tasks:
            for topic in sources.get(task.subtopology_id, ()):
                yield from ((topic, partition) for partition in task.partitions)
