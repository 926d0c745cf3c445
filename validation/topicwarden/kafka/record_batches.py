"""Where batches begin, and how large they are: what Kafka's Admin interface does not tell, and one fetch a broker does.

A batch is appended, rolled away, compacted and deleted as one, so that what is proven of its first
record holds for all of it, and what is proven only of a later one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import TopicAuthorizationFailedError
from kafka.protocol.consumer import FetchRequest

from topicwarden.kafka.retry import patiently

_MAGIC = 16
"""Where in a batch its format stands; its base offset are the first eight bytes."""

_MAX_TIMESTAMP = slice(35, 43)
"""Where in a batch the largest timestamp of its records stands (``DefaultRecordBatch``)."""

_LOG_OVERHEAD = 12
"""Bytes of a batch before its length counts: its base offset and the length itself."""

NEWEST = 1_000
"""Offsets of a partition that are looked at for large batches."""

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
    return {
        place: int.from_bytes(records[:8], "big")
        for place, records in _first_batches(admin, offsets, leaders).items()
        if records[_MAGIC] >= 2
    }


def batch_timestamps(admin: KafkaAdminClient, offsets: Places, leaders: Places) -> dict[tuple[str, int], int]:
    """Return, for each (topic, partition), the largest timestamp (ms) in the batch that holds the offset.

    Partitions that ``batch_starts`` leaves out are left out.
    """
    return {
        place: int.from_bytes(records[_MAX_TIMESTAMP], "big", signed=True)
        for place, records in _first_batches(admin, offsets, leaders).items()
        if records[_MAGIC] >= 2
    }


def refused(admin: KafkaAdminClient, offsets: Places, leaders: Places) -> frozenset[tuple[str, int]]:
    """Return each (topic, partition) that this user may not read: its leader answers TOPIC_AUTHORIZATION_FAILED."""
    return frozenset(
        (topic.topic, partition.partition_index)
        for leader in sorted({leaders[place] for place in offsets})
        for topic in _fetched(admin, leader, {p: at for p, at in offsets.items() if leaders[p] == leader}, _LIMITS[0])
        for partition in topic.partitions
        if partition.error_code == TopicAuthorizationFailedError.errno
    )


def largest_batches(
    admin: KafkaAdminClient, logs: Mapping[tuple[str, int], tuple[int, int]], leaders: Places
) -> dict[tuple[str, int], int]:
    """Bytes of the largest batch among the newest of each (topic, partition), as ``max.message.bytes`` counts them.

    ``logs`` has the first offset and the next one to come. Looked at are the last ``NEWEST`` offsets, as far
    as one answer goes.
    """
    offsets = {place: max(start, end - NEWEST) for place, (start, end) in logs.items() if start < end}
    found = _first_batches(admin, offsets, leaders, limits=(1 << 20, 4 << 20, 32 << 20))
    return {place: max(_sizes(records)) for place, records in found.items()}


def _sizes(records: bytes) -> Iterator[int]:
    """The size of each batch, the last one of which may have been cut off (``DefaultRecordBatch``)."""
    at = 0
    while at + _LOG_OVERHEAD <= len(records):
        size = _LOG_OVERHEAD + int.from_bytes(records[at + 8 : at + _LOG_OVERHEAD], "big")
        yield size
        at += size


def _first_batches(
    admin: KafkaAdminClient, offsets: Places, leaders: Places, limits: Iterable[int] = _LIMITS
) -> dict[tuple[str, int], bytes]:
    """For each (topic, partition): what lies from the offset on, at least the header of one batch."""
    found: dict[tuple[str, int], bytes] = {}
    for limit in limits:
        waiting: dict[int, list[tuple[str, int]]] = {}
        for place in offsets:
            if place not in found:
                waiting.setdefault(leaders[place], []).append(place)
        for leader, places in waiting.items():
            at_once = max(1, _MOST_BYTES // limit)
            for first in range(0, len(places), at_once):
                asked = {place: offsets[place] for place in places[first : first + at_once]}
                found |= _asked(admin, leader, asked, limit)
    return found


def _asked(admin: KafkaAdminClient, leader: int, offsets: Places, limit: int) -> dict[tuple[str, int], bytes]:
    return {
        (topic.topic, partition.partition_index): records
        for topic in _fetched(admin, leader, offsets, limit)
        for partition in topic.partitions
        for records in [bytes(partition.records or b"")]
        if partition.error_code == 0 and len(records) > _MAGIC
    }


def _fetched(admin: KafkaAdminClient, leader: int, offsets: Places, limit: int) -> list[Any]:
    """Return what a leader answers to a fetch from these offsets, by topic."""
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

    return list(patiently(lambda: manager.run(send)).responses)
