"""Single records, fetched without a consumer group: keys at offsets, and the first record that a group has not read.

Nothing is committed. Values are not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Never

from kafka import KafkaAdminClient

from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.read.group_lags import Position, UnreadRecord, UnreadRecords
from topicwarden.kafka.read.partition_fetcher import (
    DELETED,
    PartitionFetcher,
    PartitionId,
    PartitionReader,
    current_leaders,
)
from topicwarden.kafka.read.record_decoder import RecordBatch, UnreadableRecords

_FETCHED_BYTES: Final = 64 << 10
"""Bytes to fetch from a partition at once, which is enough for some batches of the default size."""
_TIMEOUT_S: Final = 30.0


def read_keys(
    admin: KafkaAdminClient, offsets: Mapping[PartitionId, Collection[int]]
) -> dict[PartitionId, dict[int, bytes]]:
    """Return the keys of the records at ``offsets``, without records that are gone or have no key.

    Records of aborted and open transactions count as well. Raises UnreadableRecords for a damaged batch, and if a
    leader returns an error.
    """
    readers = [_KeyReader(*at, requested) for at, requested in offsets.items()]
    leaders = retry_transient(lambda: current_leaders(admin, {topic for topic, _ in offsets}))
    PartitionFetcher(admin, leaders, [_FETCHED_BYTES], _TIMEOUT_S).read(readers, committed=False)
    return {reader.at: reader.keys for reader in readers}


class _KeyReader(PartitionReader):
    """Reads the keys at some offsets of one partition. Raises UnreadableRecords if they cannot be read."""

    def __init__(self, topic: str, partition: int, offsets: Collection[int]) -> None:
        super().__init__(topic, partition)
        self.keys: dict[int, bytes] = {}
        self._requested = sorted(set(offsets))

    @property
    def next_offset(self) -> int | None:
        return self._requested[0] if self._requested else None

    def take_batch(self, batch: RecordBatch, delivered: bool) -> None:
        if delivered:
            self.keys |= {at: key for at, key, _ in batch.records if at in self._requested and key is not None}
        self._requested = [offset for offset in self._requested if offset > batch.last_offset]

    def take_end(self, *, transactions_open: bool) -> None:
        self._requested = []

    def take_gap(self) -> None:
        self._requested = []  # the cleaner has removed the last batches

    def skip(self, reason: str) -> None:
        if reason != DELETED:
            self.give_up(reason)
        self._requested.pop(0)

    def give_up(self, reason: str) -> Never:
        raise UnreadableRecords(reason)


TIMEOUT_S: Final = 30.0
"""The time after which no more records are fetched."""
MOST_FETCHED: Final = 512 << 20
"""Bytes after which no more records are fetched."""

_LIMITS: Final = (16 << 10, 256 << 10)
"""Bytes to fetch from a partition at once."""


def read_unread_records(
    admin: KafkaAdminClient,
    positions: Collection[Position],
    leaders: Mapping[PartitionId, int],
    timeout_s: float = TIMEOUT_S,
) -> UnreadRecords:
    """Return the first record that a consumer gets at each of ``positions``, which must be in the log.

    Transaction markers, aborted transactions and gaps are skipped. ``leaders`` are the leaders of the partitions. One
    request asks a leader for many partitions, and equal positions are fetched once. Reads for at most ``timeout_s``
    seconds, and about ``MOST_FETCHED`` bytes. A failure of one partition only makes this partition unknown.
    """
    offsets: dict[PartitionId, set[int]] = {}
    for topic, partition, offset in positions:
        offsets.setdefault((topic, partition), set()).add(offset)
    searches = [_PartitionSearch(*at, sorted(requested)) for at, requested in offsets.items()]
    fetcher = PartitionFetcher(admin, leaders, _LIMITS, timeout_s, MOST_FETCHED)
    fetcher.read(searches, committed=True)
    for search in searches:
        search.search_open_transactions()
    fetcher.read(searches, committed=False)
    return UnreadRecords(
        {position: record for search in searches for position, record in search.found.items()},
        {position: reason for search in searches for position, reason in search.unknown.items()},
    )


class _PartitionSearch(PartitionReader):
    """Searches one partition for the records of several offsets.

    ``next`` has, for each offset without a record so far, the offset from which to search on.
    """

    most_failures = 5

    def __init__(self, topic: str, partition: int, offsets: Iterable[int]) -> None:
        super().__init__(topic, partition)
        self.next = {offset: offset for offset in offsets}
        self.found: dict[Position, UnreadRecord | None] = {}
        self.unknown: dict[Position, str] = {}
        self._committed, self._in_open_transactions = True, dict[int, int]()

    @property
    def next_offset(self) -> int | None:
        return min(self.next.values(), default=None)

    def take_batch(self, batch: RecordBatch, delivered: bool) -> None:
        records = list(zip(batch.records, batch.timestamps, strict=True)) if delivered else []
        for requested, start in list(self.next.items()):
            if start <= batch.last_offset:
                self.next[requested] = batch.last_offset + 1
                for (offset, _, _), timestamp in records:
                    if offset >= start:
                        self._settle(requested, batch, offset, timestamp)
                        break

    def _settle(self, requested: int, batch: RecordBatch, offset: int, timestamp: int) -> None:
        record = UnreadRecord(offset, timestamp, batch.log_append_time, batch.leader_epoch, self._committed)
        self.found[*self.at, requested] = record
        del self.next[requested]

    def take_end(self, *, transactions_open: bool) -> None:
        if transactions_open:
            self._in_open_transactions = self.next
        else:
            self.found |= {(*self.at, requested): None for requested in self.next}
        self.next = {}

    def search_open_transactions(self) -> None:
        """Go on with the offsets that are at or after the last stable offset."""
        self.next, self._in_open_transactions, self.limit, self._committed = self._in_open_transactions, {}, 0, False

    def give_up(self, reason: str) -> None:
        self.unknown |= {(*self.at, requested): reason for requested in self.next}
        self.next = {}

    def skip(self, reason: str) -> None:
        first = min(self.next, key=lambda requested: self.next[requested])
        self.unknown[*self.at, first] = reason
        del self.next[first]
