"""The newest records of topics, read to predict the effect of a change.

They are fetched without a consumer group, and nothing is committed. Keys and values stay in this process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kafka import KafkaAdminClient

from topicwarden.kafka.read.partition_fetcher import PartitionFetcher, PartitionId, PartitionReader
from topicwarden.kafka.read.record_decoder import RecordBatch
from topicwarden.kafka.read.snapshot import LiveTopic

MOST_RECORDS = 10_000
"""Records that are read of one topic, over all its partitions."""

_TIMEOUT_S = 5.0
_FETCHED_BYTES = 1 << 20
"""Bytes to fetch from a partition at once."""
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
    ranges: Mapping[PartitionId, _Range],
    records: Mapping[str, list[_Record]],
    unread: set[PartitionId],
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
    ranges: Mapping[PartitionId, _Range],
    records: dict[str, list[_Record]],
    *,
    only_committed: bool = False,
) -> set[PartitionId]:
    """Add each record to ``records``; return the partitions that were not read to their end."""
    leaders = {(name, state.partition): state.leader for name, live in topics.items() for state in live.replicas}
    readers = [_RangeReader(*at, *bounds, records[at[0]]) for at, bounds in ranges.items()]
    PartitionFetcher(admin, leaders, [_FETCHED_BYTES], _TIMEOUT_S).read(readers, committed=only_committed)
    return {reader.at for reader in readers if not reader.complete}


class _RangeReader(PartitionReader):
    """Reads the records of one partition from offset ``start`` to offset ``end`` into ``records``."""

    def __init__(self, topic: str, partition: int, start: int, end: int, records: list[_Record]) -> None:
        super().__init__(topic, partition)
        self.complete = False
        self._offset, self._end, self._given_up, self._records = start, end, False, records

    @property
    def next_offset(self) -> int | None:
        return None if self.complete or self._given_up else self._offset

    def take_batch(self, batch: RecordBatch, delivered: bool) -> None:
        for offset, key, value in batch.records if delivered else ():
            if self._offset <= offset < self._end:
                self._records.append(self._record(key, value))
        self._offset = max(self._offset, batch.last_offset + 1)
        self.complete = self._offset >= self._end

    def take_end(self, *, transactions_open: bool) -> None:
        self.complete = True

    def give_up(self, reason: str) -> None:
        self._given_up = True

    def _record(self, key: bytes | None, value: bytes | None) -> _Record:
        small = value is not None and len(self._records) < _SAMPLE and len(value) <= _SAMPLE_BYTES
        return _Record(self.partition, key, value is None, value if small else None)


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
