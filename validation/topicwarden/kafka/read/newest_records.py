"""The newest records of topics, read to predict the effect of a change.

They are fetched without a consumer group, and nothing is committed. Keys and values stay in this process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, TopicAuthorizationFailedError

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.read.record_batches import MOST_BYTES, fetch
from topicwarden.kafka.read.record_decoder import RecordBatch, UnreadableRecords, decode, with_delivery
from topicwarden.kafka.read.snapshot import LiveTopic

MOST_RECORDS = 10_000
"""Records that are read of one topic, over all its partitions."""

_TIMEOUT_S = 5.0
_PAUSE_S = 0.1
_FETCHED_BYTES = 1 << 20
"""Bytes to fetch from a partition at once."""
_AT_ONCE = MOST_BYTES // _FETCHED_BYTES
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


def read_newest_records(admin: KafkaAdminClient, topics: Mapping[str, LiveTopic]) -> dict[str, NewestRecords]:
    """Return the newest records of each of ``topics``; topics without the Read permission are left out.

    Reads at most ``MOST_RECORDS`` of each topic, and stops after ``_TIMEOUT_S`` seconds.
    """
    ranges = {
        (name, partition): (max(extent.start, extent.end - MOST_RECORDS // live.topic.partitions), extent.end)
        for name, live in topics.items()
        for partition, extent in live.extents.items()
    }
    open_ranges = {partition_id: bounds for partition_id, bounds in ranges.items() if bounds[0] < bounds[1]}
    records: dict[str, list[_Record]] = {name: [] for name in topics}
    unread = _read(admin, topics, open_ranges, records) if open_ranges else set()
    committed = _committed(admin, topics, open_ranges, records, unread)
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
    admin: KafkaAdminClient,
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
        unread |= _read(admin, topics, again, committed, only_committed=True)
    return committed


def _read(
    admin: KafkaAdminClient,
    topics: Mapping[str, LiveTopic],
    ranges: Mapping[_PartitionId, _Range],
    records: dict[str, list[_Record]],
    *,
    only_committed: bool = False,
) -> set[_PartitionId]:
    """Add each record to ``records``; return the partitions that were not read to their end."""
    leaders = {(name, state.partition): state.leader for name, live in topics.items() for state in live.replicas}
    partitions = {
        partition_id: _PartitionReader(partition_id[1], *bounds, only_committed, records[partition_id[0]])
        for partition_id, bounds in ranges.items()
    }
    waiting = dict(partitions)
    deadline = time.monotonic() + _TIMEOUT_S
    while waiting and time.monotonic() < deadline:
        if not _read_round(admin, leaders, waiting, only_committed):
            time.sleep(_PAUSE_S)
            leaders |= current_leaders(admin, {topic for topic, _ in waiting})
    return {partition_id for partition_id, reader in partitions.items() if not reader.complete}


def _read_round(
    admin: KafkaAdminClient,
    leaders: Mapping[_PartitionId, int | None],
    waiting: dict[_PartitionId, _PartitionReader],
    only_committed: bool,
) -> bool:
    """Fetch once from each leader, and remove from ``waiting`` what has ended; return whether any was read."""
    progress = False
    for leader in {leaders[partition_id] for partition_id in waiting}:
        fetched = [partition_id for partition_id in waiting if leaders[partition_id] == leader][:_AT_ONCE]
        readers = {partition_id: waiting.pop(partition_id) for partition_id in fetched}
        if leader is not None:
            progress |= _fetch(admin, leader, readers, only_committed)
        waiting |= {partition_id: reader for partition_id, reader in readers.items() if not reader.ended}
    return progress


def current_leaders(admin: KafkaAdminClient, topics: Collection[str]) -> dict[_PartitionId, int | None]:
    """Return the leaders of the partitions of ``topics``, which may have moved; none if no broker answers."""
    try:
        described = describe_topics(admin, sorted(topics))
    except KafkaError:
        return {}
    return {
        (topic["name"], state["partition_index"]): state["leader_id"] if state["leader_id"] >= 0 else None
        for topic in described
        for state in topic["partitions"]
    }


def _fetch(
    admin: KafkaAdminClient, leader: int, readers: Mapping[_PartitionId, _PartitionReader], only_committed: bool
) -> bool:
    """Let ``readers`` read one response of their ``leader``; return whether one of them was read on or has ended."""
    offsets = {partition_id: reader.offset for partition_id, reader in readers.items()}
    try:
        response = fetch(admin, leader, offsets, _FETCHED_BYTES, committed=only_committed)
    except KafkaError:
        return False
    read = [
        readers[topic.topic, partition.partition_index].read(partition)
        for topic in response
        for partition in topic.partitions
    ]
    return any(read)


class _PartitionReader:
    """Reads the records of one partition from offset ``start`` to offset ``end`` into ``records``."""

    def __init__(self, partition: int, start: int, end: int, only_committed: bool, records: list[_Record]) -> None:
        self.offset, self.complete, self.ended = start, False, False
        self._partition, self._end, self._only_committed, self._records = partition, end, only_committed, records

    def read(self, response: Any) -> bool:
        """Read one response; return whether this brought the reader forward, or to its end."""
        before = self.offset
        if response.error_code:
            self.ended = response.error_code == TopicAuthorizationFailedError.errno
            return self.ended
        try:
            self._read_batches(decode(bytes(response.records or b"")), response.aborted_transactions or ())
        except UnreadableRecords:
            self.ended = True
            return True
        last = response.last_stable_offset if self._only_committed else response.high_watermark
        self.complete = self.ended = self.offset >= min(self._end, last)
        return self.ended or self.offset > before

    def _read_batches(self, batches: Iterable[RecordBatch], aborted_transactions: Iterable[Any]) -> None:
        """Add the records of ``batches`` that are in the range, without those of ``aborted_transactions``."""
        for batch, delivered in with_delivery(batches, aborted_transactions):
            if delivered:
                for offset, key, value in batch.records:
                    if self.offset <= offset < self._end:
                        self._records.append(self._record(key, value))
            self.offset = max(self.offset, batch.last_offset + 1)
            if self.offset >= self._end:
                return

    def _record(self, key: bytes | None, value: bytes | None) -> _Record:
        small = value is not None and len(self._records) < _SAMPLE and len(value) <= _SAMPLE_BYTES
        return _Record(self._partition, key, value is None, value if small else None)


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
