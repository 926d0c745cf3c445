"""Where batches begin: what Kafka's Admin interface does not tell, and one small fetch a broker does.

A batch is appended, rolled away, compacted and deleted as one, so that what is proven of its first
record holds for all of it, and what is proven only of a later one does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.protocol.consumer import FetchRequest

_HEADER_BYTES = 61
"""Of a batch of today's format: its base offset is the first eight, its format (``magic``) the seventeenth."""

_LAST_VERSION_BY_NAME = 12
"""From 13 on a fetch names topics by id (KIP-516)."""


def batch_starts(
    admin: KafkaAdminClient, offsets: Mapping[tuple[str, int], int], leaders: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    """For each (topic, partition): the base offset of the batch that holds the offset, or the next one behind it.

    One request a leader, which brings no more of a partition than a header (of the first partition, one
    batch: KIP-74). Left out are partitions that answer nothing, and batches from before Kafka 0.11,
    whose first number is no base offset.
    """
    requests: dict[int, dict[str, list[Any]]] = {}
    for (topic, partition), offset in offsets.items():
        asked = FetchRequest.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            partition_max_bytes=_HEADER_BYTES,
        )
        requests.setdefault(leaders[topic, partition], {}).setdefault(topic, []).append(asked)
    starts: dict[tuple[str, int], int] = {}
    for leader, topics in requests.items():
        answer = _fetch(admin, leader, topics)
        for topic in answer.responses:
            for partition in topic.partitions:
                header = bytes(partition.records or b"")[:_HEADER_BYTES]
                if partition.error_code == 0 and len(header) > 16 and header[16] >= 2:
                    starts[topic.topic, partition.partition_index] = int.from_bytes(header[:8], "big")
    return starts


def _fetch(admin: KafkaAdminClient, leader: int, topics: Mapping[str, list[Any]]) -> Any:
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=64 * 1024 * 1024,
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

    return manager.run(send)
