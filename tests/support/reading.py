"""Reading a topic with another client than ours: what an audit is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition


def records(servers: Sequence[str], topic: str) -> Iterator[Message]:
    """Every record of a topic from its beginning, as a consumer sees it that starts now."""
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
