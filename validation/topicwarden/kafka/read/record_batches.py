"""Start offsets, timestamps and sizes of record batches, read with one raw fetch per broker.

Kafka's Admin interface does not report them. A batch is appended, rolled, compacted and deleted as a whole: what is
proven for its first record holds for all its records, but not the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import TopicAuthorizationFailedError
from kafka.protocol.consumer import FetchRequest

from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.request_errors import retry_transient

_MAGIC = 16
"""Position of the format version in a batch; its base offset is in the first eight bytes."""

_MAX_TIMESTAMP = slice(35, 43)
"""Position of the largest record timestamp in a batch (``DefaultRecordBatch``)."""

_LAST_OFFSET_DELTA = slice(23, 27)
_RECORDS = slice(57, 61)
"""Positions of the last offset, relative to the base offset, and of the number of records."""

_LOG_OVERHEAD = 12
"""Bytes of a batch that its length field does not count: the base offset and the length itself."""

NEWEST = 1_000
"""Offsets at the end of a partition that are searched for large batches."""

_LIMITS = (16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20)
"""Bytes to fetch from a partition. Brokers return whole batches or none, so larger limits follow for large batches."""

MOST_BYTES = 64 << 20
"""Largest number of bytes in one response."""

_LAST_VERSION_BY_NAME = 12
"""Last version of the fetch request that names topics; later versions use topic ids (KIP-516)."""

_MOST_OF_LOG = 256 << 20
"""The most bytes of one log that ``is_whole`` fetches."""

PartitionNumbers = Mapping[tuple[str, int], int]
"""A number for each (topic, partition)."""


def batch_starts(
    admin: KafkaAdminClient, offsets: PartitionNumbers, leaders: PartitionNumbers
) -> dict[tuple[str, int], int]:
    """Return, for each (topic, partition), the base offset of the batch that contains the offset, or of the next batch.

    One request asks a leader for thousands of partitions. Left out are partitions without a response, batches of more
    than 32 MiB, and batches from before Kafka 0.11, which do not begin with a base offset.
    """
    return {
        topic_partition: int.from_bytes(records[:8], "big")
        for topic_partition, records in _first_batches(admin, offsets, leaders).items()
        if records[_MAGIC] >= 2
    }


def batch_timestamps(
    admin: KafkaAdminClient, offsets: PartitionNumbers, leaders: PartitionNumbers
) -> dict[tuple[str, int], int]:
    """Return, for each (topic, partition), the largest timestamp (ms) in the batch that contains the offset.

    Partitions that ``batch_starts`` leaves out are left out.
    """
    return {
        topic_partition: int.from_bytes(records[_MAX_TIMESTAMP], "big", signed=True)
        for topic_partition, records in _first_batches(admin, offsets, leaders).items()
        if records[_MAGIC] >= 2
    }


def denied_partitions(
    admin: KafkaAdminClient, offsets: PartitionNumbers, leaders: PartitionNumbers
) -> frozenset[tuple[str, int]]:
    """Return each (topic, partition) that this user may not read: its leader returns TOPIC_AUTHORIZATION_FAILED."""
    return frozenset(
        (topic.topic, partition.partition_index)
        for leader in sorted({leaders[topic_partition] for topic_partition in offsets})
        for topic in _fetched(
            admin,
            leader,
            {topic_partition: at for topic_partition, at in offsets.items() if leaders[topic_partition] == leader},
            _LIMITS[0],
        )
        for partition in topic.partitions
        if partition.error_code == TopicAuthorizationFailedError.errno
    )


def largest_batches(
    admin: KafkaAdminClient, logs: Mapping[tuple[str, int], tuple[int, int]], leaders: PartitionNumbers
) -> dict[tuple[str, int], int]:
    """Return bytes of the largest recent batch of each (topic, partition), as ``max.message.bytes`` counts them.

    ``logs`` has the start offset and the end offset. Only the last ``NEWEST`` offsets are searched, as far as they fit
    into one response.
    """
    offsets = {
        topic_partition: max(start, end - NEWEST) for topic_partition, (start, end) in logs.items() if start < end
    }
    records_by_partition = _first_batches(admin, offsets, leaders, limits=(1 << 20, 4 << 20, 32 << 20))
    return {topic_partition: max(_sizes(records)) for topic_partition, records in records_by_partition.items()}


def is_whole(admin: KafkaAdminClient, partition: tuple[str, int], leader: int, end: int) -> bool:
    """Return whether the log has a record or a marker at each offset from 0 to ``end``: it has lost nothing.

    A consumer sees no records of aborted transactions and no markers, so it cannot tell their offsets from those that
    the cleaner has emptied. The batches can: brokers accept only batches with a record at each offset
    (``LogValidator.validateBatch``), and append them without a gap. The cleaner removes whole batches, or keeps the
    first and last offset of a batch with fewer records (``MemoryRecords.buildRetainedRecordsInto``).

    False if it cannot be seen: batches of more than 32 MiB or from before Kafka 0.11, or more than ``_MOST_OF_LOG``.
    """
    following, fetched = 0, 0
    while following < end:
        data = _batches_from(admin, partition, leader, following)
        fetched += len(data)
        first = following
        position = 0
        while position + _RECORDS.stop <= len(data):
            header = data[position : position + _RECORDS.stop]
            records = int.from_bytes(header[_LAST_OFFSET_DELTA], "big", signed=True) + 1
            if header[_MAGIC] < 2 or int.from_bytes(header[:8], "big") != following:
                return False
            if int.from_bytes(header[_RECORDS], "big", signed=True) != records:
                return False
            following += records
            position += _LOG_OVERHEAD + int.from_bytes(header[8:_LOG_OVERHEAD], "big")
        if following == first or fetched > _MOST_OF_LOG:
            return False
    return True


def _batches_from(admin: KafkaAdminClient, partition: tuple[str, int], leader: int, offset: int) -> bytes:
    """Return the bytes of the log from ``offset`` on, with at least the header of one batch; none at its end."""
    limits = (4 << 20, 32 << 20)
    return _first_batches(admin, {partition: offset}, {partition: leader}, limits).get(partition, b"")


def _sizes(records: bytes) -> Iterator[int]:
    """Yield the size of each batch; the last batch may be cut off (``DefaultRecordBatch``)."""
    position = 0
    while position + _LOG_OVERHEAD <= len(records):
        size = _LOG_OVERHEAD + int.from_bytes(records[position + 8 : position + _LOG_OVERHEAD], "big")
        yield size
        position += size


def _first_batches(
    admin: KafkaAdminClient, offsets: PartitionNumbers, leaders: PartitionNumbers, limits: Iterable[int] = _LIMITS
) -> dict[tuple[str, int], bytes]:
    """Return the bytes from each offset on, with at least the header of one batch; none without a leader."""
    records_by_partition: dict[tuple[str, int], bytes] = {}
    for limit in limits:
        waiting: dict[int, list[tuple[str, int]]] = {}
        for topic_partition in offsets:
            if topic_partition in leaders and topic_partition not in records_by_partition:
                waiting.setdefault(leaders[topic_partition], []).append(topic_partition)
        for leader, partitions in waiting.items():
            at_once = max(1, MOST_BYTES // limit)
            for first in range(0, len(partitions), at_once):
                batch = {
                    topic_partition: offsets[topic_partition] for topic_partition in partitions[first : first + at_once]
                }
                records_by_partition |= _records(admin, leader, batch, limit)
    return records_by_partition


def _records(
    admin: KafkaAdminClient, leader: int, offsets: PartitionNumbers, limit: int
) -> dict[tuple[str, int], bytes]:
    return {
        (topic.topic, partition.partition_index): records
        for topic in _fetched(admin, leader, offsets, limit)
        for partition in topic.partitions
        for records in [bytes(partition.records or b"")]
        if partition.error_code == 0 and len(records) > _MAGIC
    }


def _fetched(admin: KafkaAdminClient, leader: int, offsets: PartitionNumbers, limit: int) -> list[Any]:
    return retry_transient(lambda: fetch(admin, leader, offsets, limit))


def fetch(
    admin: KafkaAdminClient, leader: int, offsets: PartitionNumbers, limit: int, *, committed: bool = False
) -> list[Any]:
    """Return the leader's response to a fetch from ``offsets``, by topic, with about ``limit`` bytes of each partition.

    With ``committed``, batches of open transactions and later ones are left out, and the response names the aborted
    transactions (KIP-98). A batch that is larger than ``limit`` is left out, except for the first one of the response.
    """
    topics: dict[str, list[Any]] = {}
    for (topic, partition), offset in offsets.items():
        requested = FetchRequest.FetchTopic.FetchPartition(
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            last_fetched_epoch=-1,
            partition_max_bytes=limit,
        )
        topics.setdefault(topic, []).append(requested)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=MOST_BYTES,
        isolation_level=int(committed),
        session_id=0,
        session_epoch=-1,  # a full fetch outside any session (KIP-227)
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=requests) for topic, requests in topics.items()],
        forgotten_topics_data=[],
        rack_id="",
        max_version=_LAST_VERSION_BY_NAME,
    )
    return list(send_to_broker(admin, request, leader).responses)
