"""Where batches begin: what Kafka's Admin interface does not tell, and one small fetch a broker does.

A batch is appended, rolled away, compacted and deleted as one, so that what is proven of its first
record holds for all of it, and what is proven only of a later one does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.protocol.consumer import FetchRequest

from topicwarden.kafka.patience import patiently

_MAGIC = 16
"""Where in a batch its format stands; its base offset are the first eight bytes."""

_LIMITS = (16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20)
"""Bytes asked of a partition: brokers give whole batches or none, so that a larger one is asked for again."""

_MOST_BYTES = 64 << 20
"""Of one answer."""

_LAST_VERSION_BY_NAME = 12
"""From 13 on a fetch names topics by id (KIP-516)."""

Places = Mapping[tuple[str, int], int]
"""A number for each topic and partition."""


def batch_starts(admin: KafkaAdminClient, offsets: Places, leaders: Places) -> dict[tuple[str, int], int]:
    """For each (topic, partition): the base offset of the batch that holds the offset, or the next one behind it.

    A leader answers for thousands of partitions at once. Left out are partitions that answer nothing,
    batches of more than 32 MiB, and those from before Kafka 0.11, whose first number is no base offset.
    """
    starts: dict[tuple[str, int], int] = {}
    for limit in _LIMITS:
        waiting: dict[int, list[tuple[str, int]]] = {}
        for place in offsets:
            if place not in starts:
                waiting.setdefault(leaders[place], []).append(place)
        for leader, places in waiting.items():
            at_once = _MOST_BYTES // limit
            for first in range(0, len(places), at_once):
                starts |= _asked(
                    admin, leader, {place: offsets[place] for place in places[first : first + at_once]}, limit
                )
    return starts


def _asked(admin: KafkaAdminClient, leader: int, offsets: Places, limit: int) -> dict[tuple[str, int], int]:
    topics: dict[str, list[Any]] = {}
    for (topic, partition), offset in offsets.items():
        asked = FetchRequest.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            partition_max_bytes=limit,
        )
        topics.setdefault(topic, []).append(asked)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_MOST_BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,  # a full fetch outside any session (KIP-227)
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=held) for topic, held in topics.items()],
        forgotten_topics_data=[],
        rack_id="",
        max_version=_LAST_VERSION_BY_NAME,
    )
    manager = admin._manager  # the client has no public way to fetch a batch as it is

    async def send() -> Any:
        return await manager.send(request, node_id=leader)

    return {
        (topic.topic, partition.partition_index): int.from_bytes(header[:8], "big")
        for topic in patiently(lambda: manager.run(send)).responses
        for partition in topic.partitions
        for header in [bytes((partition.records or b"")[: _MAGIC + 1])]
        if partition.error_code == 0 and len(header) > _MAGIC and header[_MAGIC] >= 2
    }
