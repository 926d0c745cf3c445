"""The first record at or after an offset that a consumer would get, fetched without a consumer group.

Nothing is committed. Keys and values are not kept.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, OffsetOutOfRangeError, TopicAuthorizationFailedError, for_code

from topicwarden.kafka.read.group_lags import Position, UnreadRecord, UnreadRecords
from topicwarden.kafka.read.newest_records import current_leaders
from topicwarden.kafka.read.record_batches import MOST_BYTES, fetch
from topicwarden.kafka.read.record_decoder import RecordBatch, UnreadableRecords, decode, with_delivery

TIMEOUT_S: Final = 30.0
"""The time after which no more records are fetched."""
MOST_FETCHED: Final = 512 << 20
"""Bytes after which no more records are fetched."""

_LIMITS: Final = (16 << 10, 256 << 10, 1)
"""Bytes to fetch from a partition at once. The last limit is for a request with only one partition: the broker then
returns one batch, however large it is (KIP-74)."""
_MOST_FAILURES: Final = 5
"""Failed requests in a row after which a partition is given up."""
_PAUSE_S: Final = 0.1

_PartitionId: TypeAlias = tuple[str, int]

READ_DENIED: Final = "this user may not read the records"
DELETED: Final = "the record was deleted while it was read"


def read_unread_records(
    admin: KafkaAdminClient,
    positions: Collection[Position],
    leaders: Mapping[_PartitionId, int],
    timeout_s: float = TIMEOUT_S,
) -> UnreadRecords:
    """Return the first record that a consumer gets at each of ``positions``, which must be in the log.

    Transaction markers, aborted transactions and gaps are skipped. ``leaders`` are the leaders of the partitions. One
    request asks a leader for many partitions, and equal positions are fetched once. Reads for at most ``timeout_s``
    seconds, and about ``MOST_FETCHED`` bytes. A failure of one partition only makes this partition unknown.
    """
    offsets: dict[_PartitionId, set[int]] = {}
    for topic, partition, offset in positions:
        offsets.setdefault((topic, partition), set()).add(offset)
    searches = [_PartitionSearch(*at, sorted(requested)) for at, requested in offsets.items()]
    reader = _Reader(admin, leaders, time.monotonic() + timeout_s)
    reader.read(searches, committed=True)
    for search in searches:
        search.search_open_transactions()
    reader.read(searches, committed=False)
    return UnreadRecords(
        {position: record for search in searches for position, record in search.found.items()},
        {position: reason for search in searches for position, reason in search.unknown.items()},
    )


class _Reader:
    """Fetches batches until each search has ended, or time or bytes have run out."""

    def __init__(self, admin: KafkaAdminClient, leaders: Mapping[_PartitionId, int | None], deadline: float) -> None:
        self._admin, self._leaders, self._deadline, self._fetched = admin, {**leaders}, deadline, 0

    def read(self, searches: Iterable[_PartitionSearch], *, committed: bool) -> None:
        """Fetch for all ``searches``. With ``committed``, only committed records before the last stable offset."""
        while waiting := [search for search in searches if search.next]:
            for leader, limit, requested in self._requests(waiting):
                if time.monotonic() >= self._deadline or self._fetched >= MOST_FETCHED:
                    for search in waiting:
                        search.give_up("the record was not found in the time and bytes of one read")
                    return
                self._fetch(leader, limit, requested, committed=committed)
            failed = {search.topic for search in waiting if search.next and search.failures}
            if failed:
                time.sleep(_PAUSE_S)
                self._leaders |= current_leaders(self._admin, failed)

    def _requests(
        self, waiting: Iterable[_PartitionSearch]
    ) -> Iterator[tuple[int | None, int, list[_PartitionSearch]]]:
        """Yield the searches of each request, with the leader to ask and the bytes of each partition."""
        grouped: dict[tuple[int | None, int], list[_PartitionSearch]] = {}
        for search in waiting:
            grouped.setdefault((self._leaders.get(search.at), search.limit), []).append(search)
        for (leader, limit), searches in grouped.items():
            at_once = MOST_BYTES // _LIMITS[limit] if limit < len(_LIMITS) - 1 else 1
            for first in range(0, len(searches), at_once):
                yield leader, _LIMITS[limit], searches[first : first + at_once]

    def _fetch(self, leader: int | None, limit: int, searches: list[_PartitionSearch], *, committed: bool) -> None:
        by_partition = {search.at: search for search in searches}
        answered = set[_PartitionId]()
        reason = "the partition has no leader"
        if leader is not None:
            try:
                response = fetch(
                    self._admin,
                    leader,
                    {at: each.offset for at, each in by_partition.items()},
                    limit,
                    committed=committed,
                )
            except KafkaError as error:
                response, reason = [], f"its leader did not answer: {type(error).__name__}"
            for topic in response:
                for partition in topic.partitions:
                    at = (topic.topic, partition.partition_index)
                    self._fetched += len(partition.records or b"")
                    by_partition[at].take(partition, committed=committed)
                    answered.add(at)
        for at in by_partition.keys() - answered:
            by_partition[at].fail(reason)


class _PartitionSearch:
    """Searches one partition for the records of several offsets.

    ``next`` has, for each offset without a record so far, the offset from which to search on.
    """

    def __init__(self, topic: str, partition: int, offsets: Iterable[int]) -> None:
        self.topic, self.partition = topic, partition
        self.next = {offset: offset for offset in offsets}
        self.limit, self.failures = 0, 0
        self.found: dict[Position, UnreadRecord | None] = {}
        self.unknown: dict[Position, str] = {}
        self._in_open_transactions: dict[int, int] = {}

    @property
    def at(self) -> _PartitionId:
        return self.topic, self.partition

    @property
    def offset(self) -> int:
        """The offset to fetch from."""
        return min(self.next.values())

    def take(self, response: Any, *, committed: bool) -> None:
        """Search the batches of a fetch response."""
        code = response.error_code
        if code == TopicAuthorizationFailedError.errno:
            self.give_up(READ_DENIED)
        elif code == OffsetOutOfRangeError.errno:
            self._give_up_first(DELETED)
        elif code:
            self.fail(f"its leader returned {for_code(code).__name__}")
        else:
            before = self.offset
            try:
                self._take_batches(decode(bytes(response.records or b"")), response.aborted_transactions, committed)
            except UnreadableRecords:
                self._give_up_first("its batch is damaged, too large, or has an unknown codec")
            else:
                if self.next and self.offset == before:
                    self._take_nothing(response, committed)
                elif self.next:
                    self.limit, self.failures = 0, 0

    def _take_batches(self, batches: Iterable[RecordBatch], aborted: Iterable[Any] | None, committed: bool) -> None:
        for batch, delivered in with_delivery(batches, aborted or ()):
            records = list(zip(batch.records, batch.timestamps, strict=True)) if delivered else []
            for requested, start in [
                (requested, start) for requested, start in self.next.items() if start <= batch.last_offset
            ]:
                self.next[requested] = batch.last_offset + 1
                for (offset, _, _), timestamp in records:
                    if offset >= start:
                        self._settle(requested, batch, offset, timestamp, committed)
                        break
            if not self.next:
                return

    def _settle(self, requested: int, batch: RecordBatch, offset: int, timestamp: int, committed: bool) -> None:
        record = UnreadRecord(offset, timestamp, batch.log_append_time, batch.leader_epoch, committed)
        self.found[*self.at, requested] = record
        del self.next[requested]

    def _take_nothing(self, response: Any, committed: bool) -> None:
        """Handle a response without a new batch: there is none, or the next one is larger than the limit."""
        stable, high_watermark = response.last_stable_offset, response.high_watermark
        end = stable if committed and stable >= 0 else high_watermark
        if self.offset >= end:
            if end < high_watermark:
                self._in_open_transactions = self.next
            else:
                self.found |= {(*self.at, requested): None for requested in self.next}
            self.next = {}
        elif self.limit < len(_LIMITS) - 1:
            self.limit += 1
        else:
            self.fail("its leader returned no batch")

    def search_open_transactions(self) -> None:
        """Go on with the offsets that are at or after the last stable offset."""
        self.next, self._in_open_transactions, self.limit = self._in_open_transactions, {}, 0

    def fail(self, reason: str) -> None:
        """Count a failed request; give up after some."""
        self.failures += 1
        if self.failures >= _MOST_FAILURES:
            self.give_up(reason)

    def give_up(self, reason: str) -> None:
        """Leave the records of all remaining offsets unknown, for ``reason``."""
        self.unknown |= {(*self.at, requested): reason for requested in self.next}
        self.next = {}

    def _give_up_first(self, reason: str) -> None:
        first = min(self.next, key=lambda requested: self.next[requested])
        self.unknown[*self.at, first] = reason
        del self.next[first]
