"""The first record at or after an offset that a consumer would get, fetched without a consumer group.

Nothing is committed. Keys and values are not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafka import KafkaAdminClient

from topicwarden.kafka.read.group_lags import Position, UnreadRecord, UnreadRecords
from topicwarden.kafka.read.partition_fetcher import PartitionFetcher, PartitionId, PartitionReader
from topicwarden.kafka.read.record_decoder import RecordBatch

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
