"""The newest records of some topics: enough to tell what a change would do to them, and no more.

It reads with a consumer that joins no group and commits nothing. Keys stay in this process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic

MOST_RECORDS = 10_000
"""Of one topic, over all its partitions."""

_PATIENCE_S = 5.0
_MANY = 1_000


@dataclass(frozen=True)
class NewestRecords:
    """The newest records of a topic; ``whole`` if they are all that it holds.

    ``keys`` has the distinct keys and the partition of the newest record of each. ``kept`` counts the records that no
    compaction removes: the newest of each key and partition, unless it is a tombstone, of partitions that were read to
    their end. ``tombstones`` are records with a key and without a value.
    """

    records: int
    keyless: int
    keys: Mapping[bytes, int]
    whole: bool
    kept: int = 0
    tombstones: int = 0


@dataclass(frozen=True)
class _Record:
    partition: int
    key: bytes | None
    tombstone: bool


def read_tails(connection: Connection, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
    """The tail of each of ``topics``; those that may not be read (Read on the topic) are left out.

    Reads at most ``MOST_RECORDS`` of a topic, and gives up on what does not come within seconds.
    """
    wanted = {
        (name, partition): (max(extent.start, extent.end - MOST_RECORDS // live.topic.partitions), extent.end)
        for name, live in topics.items()
        for partition, extent in live.extents.items()
    }
    open_ranges = {place: bounds for place, bounds in wanted.items() if bounds[0] < bounds[1]}
    read: dict[str, list[_Record]] = {name: [] for name in topics}
    unread = _read(connection, open_ranges, read) if open_ranges else set()
    return {
        name: _tail(
            read[name],
            whole=all(
                wanted[name, partition][0] == extent.start and (name, partition) not in unread
                for partition, extent in live.extents.items()
            )
            and len(live.extents) == len(live.replicas),
            unread={partition for topic, partition in unread if topic == name},
        )
        for name, live in topics.items()
        if read[name] or not any(place[0] == name for place in open_ranges)
    }


def _read(
    connection: Connection,
    ranges: Mapping[tuple[str, int], tuple[int, int]],
    into: dict[str, list[_Record]],
) -> set[tuple[str, int]]:
    """Fills ``into`` with partition and key of each record; gives the partitions that were not read to their end."""
    consumer = Consumer(
        {
            **connection.for_librdkafka(),
            "group.id": "topicwarden",  # named because the library asks for one; it is never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
    )
    unread = set(ranges)
    try:
        consumer.assign([TopicPartition(*place, bounds[0]) for place, bounds in ranges.items()])
        deadline = time.monotonic() + _PATIENCE_S
        while unread and time.monotonic() < deadline:
            for message in consumer.consume(_MANY, timeout=0.2):
                place = (str(message.topic()), int(message.partition() or 0))
                problem = message.error()
                offset = message.offset() or 0
                if problem is not None:
                    if problem.code() == KafkaError._PARTITION_EOF:
                        unread.discard(place)
                    continue
                if offset < ranges[place][1]:
                    into[place[0]].append(_Record(place[1], message.key(), message.value() is None))
                if offset >= ranges[place][1] - 1:
                    unread.discard(place)
    finally:
        consumer.close()
    return unread


def _tail(records: list[_Record], whole: bool, unread: set[int]) -> NewestRecords:
    keys = {record.key: record.partition for record in records if record.key is not None}
    newest = {(record.partition, record.key): record for record in records if record.key is not None}
    return NewestRecords(
        records=len(records),
        keyless=sum(record.key is None for record in records),
        keys=keys,
        whole=whole,
        kept=sum(record.partition not in unread and not record.tombstone for record in newest.values()),
        tombstones=sum(record.key is not None and record.tombstone for record in records),
    )
