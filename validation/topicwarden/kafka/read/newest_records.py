"""The newest records of topics, read to predict the effect of a change.

The consumer joins no group and commits nothing. Keys and values stay in this process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic

MOST_RECORDS = 10_000
"""Records that are read of one topic, over all its partitions."""

_TIMEOUT_S = 5.0
_POLL_RECORDS = 1_000
_SAMPLE = 200
_SAMPLE_BYTES = 64 << 10


@dataclass(frozen=True)
class NewestRecords:
    """The newest records of a topic; ``complete`` if they are all its records.

    ``keys`` maps each distinct key to the partition of its newest record. ``retained`` counts records that compaction
    never removes: the newest committed record of each key and partition, unless it is a tombstone. Only partitions that
    were read to their end count. ``tombstones`` are records with a key and without a value.
    """

    records: int
    keyless: int
    keys: Mapping[bytes, int]
    complete: bool
    retained: int = 0
    tombstones: int = 0
    sample: tuple[tuple[bytes | None, bytes | None], ...] = ()
    """Keys and values of some of the records; records with large values are left out."""


_PartitionId: TypeAlias = tuple[str, int]
_Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class _Record:
    partition: int
    key: bytes | None
    tombstone: bool
    value: bytes | None = None


def read_newest_records(connection: Connection, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
    """Return the newest records of each of ``topics``; topics without the Read right are left out.

    Reads at most ``MOST_RECORDS`` of each topic, and stops after ``_TIMEOUT_S`` seconds.
    """
    ranges = {
        (name, partition): (max(extent.start, extent.end - MOST_RECORDS // live.topic.partitions), extent.end)
        for name, live in topics.items()
        for partition, extent in live.extents.items()
    }
    open_ranges = {partition_id: bounds for partition_id, bounds in ranges.items() if bounds[0] < bounds[1]}
    records: dict[str, list[_Record]] = {name: [] for name in topics}
    unread = _read(connection, open_ranges, records) if open_ranges else set()
    committed = _committed(connection, topics, open_ranges, records, unread)
    return {
        name: _newest_records(
            records[name],
            committed[name],
            complete=all(
                ranges[name, partition][0] == extent.start and (name, partition) not in unread
                for partition, extent in live.extents.items()
            )
            and len(live.extents) == len(live.replicas),
            unread={partition for topic, partition in unread if topic == name},
        )
        for name, live in topics.items()
        if records[name] or not any(partition_id[0] == name for partition_id in open_ranges)
    }


def _committed(
    connection: Connection,
    topics: Mapping[str, LiveTopic],
    ranges: Mapping[_PartitionId, _Range],
    records: Mapping[str, list[_Record]],
    unread: set[_PartitionId],
) -> dict[str, list[_Record]]:
    """Return the committed ones of ``records``; adds partitions to ``unread`` whose committed records were not read.

    A transaction leaves a marker, which occupies an offset. So only partitions with gaps or with open transactions are
    read again.
    """
    counts = Counter((name, record.partition) for name, found in records.items() for record in found)
    again = {
        at: bounds
        for at, bounds in ranges.items()
        if at not in unread
        and (counts[at] < bounds[1] - bounds[0] or topics[at[0]].extents[at[1]].last_stable < bounds[1])
    }
    committed: dict[str, list[_Record]] = {
        name: [record for record in found if (name, record.partition) not in again] for name, found in records.items()
    }
    if again:
        unread |= _read(connection, again, committed, "read_committed")
    return committed


def _read(
    connection: Connection,
    ranges: Mapping[_PartitionId, _Range],
    records: dict[str, list[_Record]],
    isolation: str = "read_uncommitted",
) -> set[_PartitionId]:
    """Add each record to ``records``; return the partitions that were not read to their end."""
    consumer = Consumer(
        {
            **connection.for_librdkafka(),
            "group.id": "topicwarden",  # required by the library; the group is never joined
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
        }
    )
    unread, denied = set(ranges), set[tuple[str, int]]()
    try:
        consumer.assign([TopicPartition(*partition_id, bounds[0]) for partition_id, bounds in ranges.items()])
        deadline = time.monotonic() + _TIMEOUT_S
        while unread - denied and time.monotonic() < deadline:
            for message in consumer.consume(_POLL_RECORDS, timeout=0.2):
                partition_id = (str(message.topic()), int(message.partition() or 0))
                problem = message.error()
                offset = message.offset() or 0
                if problem is not None:
                    if problem.code() == KafkaError._PARTITION_EOF:
                        unread.discard(partition_id)
                    elif problem.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                        denied.add(partition_id)
                    continue
                if offset < ranges[partition_id][1]:
                    records[partition_id[0]].append(_record(message, in_sample=len(records[partition_id[0]]) < _SAMPLE))
                if offset >= ranges[partition_id][1] - 1:
                    unread.discard(partition_id)
    finally:
        consumer.close()
    return unread


def _record(message: Message, *, in_sample: bool) -> _Record:
    key, value = message.key(), message.value()
    small = in_sample and value is not None and len(value) <= _SAMPLE_BYTES
    return _Record(int(message.partition() or 0), _as_bytes(key), value is None, _as_bytes(value) if small else None)


def _as_bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def _newest_records(
    records: list[_Record], committed: list[_Record], complete: bool, unread: set[int]
) -> NewestRecords:
    keys = {record.key: record.partition for record in records if record.key is not None}
    newest = {(record.partition, record.key): record for record in committed if record.key is not None}
    return NewestRecords(
        records=len(records),
        keyless=sum(record.key is None for record in records),
        keys=keys,
        complete=complete,
        retained=sum(record.partition not in unread and not record.tombstone for record in newest.values()),
        tombstones=sum(record.key is not None and record.tombstone for record in records),
        sample=tuple(
            (record.key, record.value) for record in records[:_SAMPLE] if record.tombstone or record.value is not None
        ),
    )
