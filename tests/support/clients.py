"""Commit offsets and wait, as clients of the topics do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, TopicPartition

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import PartitionExtent


def commit(servers: Sequence[str], group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit ``offsets`` for a consumer group, and leave the group."""
    consumer = Consumer({"bootstrap.servers": ",".join(servers), "group.id": group})
    try:
        consumer.commit(
            offsets=[TopicPartition(*topic_partition, at) for topic_partition, at in offsets.items()],
            asynchronous=False,
        )
    finally:
        consumer.close()


def extents(cluster: Cluster, topic: str) -> Mapping[int, PartitionExtent]:
    return cluster.snapshot({topic}).topics[topic].extents


def until(holds: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Wait for a change that brokers make asynchronously: until ``holds`` returns true, for at most ``seconds``."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain until {what}"
        time.sleep(0.1)
