"""Streams groups (KIP-1071): their request, which kafka-python has no class for, and what the answer says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.protocol.api_message import ApiMessage

from topicwarden.kafka.read import messages
from topicwarden.kafka.read.member_groups import GroupDescription, host_addresses


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
