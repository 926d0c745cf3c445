"""Read records, commit offsets and wait, with a client other than ours: tests compare audits with the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import PartitionExtent

_STARTING = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


def commit(servers: Sequence[str], group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit ``offsets`` for a consumer group, and leave the group; wait for a coordinator that has just started."""
    consumer = Consumer({"bootstrap.servers": ",".join(servers), "group.id": group})
    committed = [TopicPartition(*topic_partition, at) for topic_partition, at in offsets.items()]

    def done() -> bool:
        try:
            consumer.commit(offsets=committed, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in _STARTING:
                raise
            return False
        return True

    try:
        until(done, f"group {group} has committed")
    finally:
        consumer.close()


def extents(cluster: Cluster, topic: str) -> Mapping[int, PartitionExtent]:
    return cluster.snapshot({topic}).topics[topic].extents


_PAUSE_S = 0.25


def until(holds: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Wait for a change that brokers make asynchronously: until ``holds`` returns true, for at most ``seconds``."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain until {what}"
        time.sleep(_PAUSE_S)


def records(servers: Sequence[str], topic: str) -> Iterator[Message]:
    """Yield every record of a topic from its beginning, as a new consumer sees the records."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(servers),
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        unread = set(partitions)
        while unread:
            message = consumer.poll(10)
            assert message is not None, f"{topic}: nothing came of {unread}"
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
            else:
                raise AssertionError(error)
    finally:
        consumer.close()
