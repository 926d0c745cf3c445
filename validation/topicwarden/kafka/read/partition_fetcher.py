"""Fetches the records of many partitions, without a consumer group, until each reader has what it looks for.

The readers of single records share this: of the newest records, of unread records, and of keys at given offsets. Each
has a subclass of ``PartitionReader``. Nothing is committed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, OffsetOutOfRangeError, TopicAuthorizationFailedError, for_code

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.read.record_batches import MOST_BYTES, fetch
from topicwarden.kafka.read.record_decoder import RecordBatch, UnreadableRecords, decode, with_delivery

PartitionId: TypeAlias = tuple[str, int]

READ_DENIED: Final = "this user may not read the records"
DELETED: Final = "the record was deleted while it was read"
_DAMAGED: Final = "its batch is damaged, too large, or has an unknown codec"
_ENDED: Final = "the record was not found in the time and bytes of one read"

_ONE_BATCH: Final = 1
"""The bytes of a request with only one partition: the broker then returns one batch, however large it is (KIP-74)."""
_PAUSE_S: Final = 0.1


class PartitionReader(ABC):
    """Reads what it looks for in one partition. ``limit`` counts the limits that were too small for its next batch."""

    most_failures = 50
    """Failed requests in a row after which the reader gives up: five seconds."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic, self.partition = topic, partition
        self.limit = self.failures = 0

    @property
    def at(self) -> PartitionId:
        return self.topic, self.partition

    @property
    @abstractmethod
    def next_offset(self) -> int | None:
        """The offset to fetch from; None if it has ended."""

    @abstractmethod
    def take_batch(self, batch: RecordBatch, delivered: bool) -> None:
        """Read one batch at or after ``next_offset``; a consumer gets its records if ``delivered``."""

    @abstractmethod
    def take_end(self, *, transactions_open: bool) -> None:
        """Handle that no batch follows; with ``transactions_open``, none that is committed."""

    def take_gap(self) -> None:
        """Handle that the leader returned no batch although the log goes on; by default, this is a failure."""
        self.fail("its leader returned no batch")

    @abstractmethod
    def give_up(self, reason: str) -> None:
        """End, for ``reason``."""

    def skip(self, reason: str) -> None:
        """Go on without the batch at ``next_offset``, which is ``DELETED`` or damaged; by default, give up."""
        self.give_up(reason)

    def fail(self, reason: str) -> None:
        """Count a failed request; give up after some."""
        self.failures += 1
        if self.failures >= self.most_failures:
            self.give_up(reason)

    def take(self, response: Any, *, committed: bool, larger: bool) -> None:
        """Read the batches of a fetch response; ``larger`` if there is a larger limit than that of the request."""
        code = response.error_code
        if code == TopicAuthorizationFailedError.errno:
            self.give_up(READ_DENIED)
        elif code == OffsetOutOfRangeError.errno:
            self.skip(DELETED)
        elif code:
            self.fail(f"its leader returned {for_code(code).__name__}")
        else:
            before = self.next_offset
            try:
                self._take_batches(response)
            except UnreadableRecords:
                self.skip(_DAMAGED)
            else:
                if self.next_offset == before:
                    self._take_nothing(response, committed, larger)
                else:
                    self.limit = self.failures = 0

    def _take_batches(self, response: Any) -> None:
        batches = decode(bytes(response.records or b""))
        for batch, delivered in with_delivery(batches, response.aborted_transactions or ()):
            if self.next_offset is None:
                return
            self.take_batch(batch, delivered)

    def _take_nothing(self, response: Any, committed: bool, larger: bool) -> None:
        """Handle a response without a new batch: there is none, or the next one is larger than the limit."""
        stable, high_watermark = response.last_stable_offset, response.high_watermark
        end = stable if committed and stable >= 0 else high_watermark
        if self.next_offset is not None and self.next_offset >= end:
            self.take_end(transactions_open=end < high_watermark)
        elif larger:
            self.limit += 1
        else:
            self.take_gap()


class PartitionFetcher:
    """Fetches batches until each reader has ended, or time or bytes have run out.

    - ``leaders``: the leaders of the partitions, None or missing for none.
    - ``limits``: bytes to fetch from a partition at once, the smallest first.
    - ``timeout_s``, ``most_fetched``: the seconds and bytes after which no more records are fetched.
    """

    def __init__(
        self,
        admin: KafkaAdminClient,
        leaders: Mapping[PartitionId, int | None],
        limits: Sequence[int],
        timeout_s: float,
        most_fetched: float = float("inf"),
    ) -> None:
        self._admin, self._leaders, self._limits = admin, {**leaders}, (*limits, _ONE_BATCH)
        self._deadline, self._left = time.monotonic() + timeout_s, most_fetched

    def read(self, readers: Iterable[PartitionReader], *, committed: bool) -> None:
        """Fetch for all ``readers``. With ``committed``, only committed records before the last stable offset."""
        waiting = list(readers)
        while waiting := [each for each in waiting if each.next_offset is not None]:
            for leader, limit, requested in self._requests(waiting):
                if time.monotonic() >= self._deadline or self._left <= 0:
                    for each in waiting:
                        each.give_up(_ENDED)
                    return
                self._fetch(leader, limit, requested, committed=committed)
            failed = {each.topic for each in waiting if each.next_offset is not None and each.failures}
            if failed:
                time.sleep(_PAUSE_S)
                with suppress(KafkaError):  # the next request shows whether they have moved
                    self._leaders |= current_leaders(self._admin, failed)

    def _requests(self, waiting: Iterable[PartitionReader]) -> Iterator[tuple[int | None, int, list[PartitionReader]]]:
        """Yield the readers of each request, with the leader to ask and the bytes of each partition."""
        grouped: dict[tuple[int | None, int], list[PartitionReader]] = {}
        for each in waiting:
            grouped.setdefault((self._leaders.get(each.at), self._limits[each.limit]), []).append(each)
        for (leader, limit), readers in grouped.items():
            at_once = MOST_BYTES // limit if limit > _ONE_BATCH else 1
            for first in range(0, len(readers), at_once):
                yield leader, limit, readers[first : first + at_once]

    def _fetch(self, leader: int | None, limit: int, readers: list[PartitionReader], *, committed: bool) -> None:
        unanswered = {each.at: each for each in readers}
        reason = "the partition has no leader"
        if leader is not None:
            offsets = {each.at: each.next_offset for each in readers if each.next_offset is not None}
            try:
                response = fetch(self._admin, leader, offsets, limit, committed=committed)
            except KafkaError as error:
                response, reason = [], f"its leader did not answer: {type(error).__name__}"
            for topic in response:
                for partition in topic.partitions:
                    self._left -= len(partition.records or b"")
                    reader = unanswered.pop((topic.topic, partition.partition_index))
                    reader.take(partition, committed=committed, larger=limit > _ONE_BATCH)
        for each in unanswered.values():
            each.fail(reason)


def current_leaders(admin: KafkaAdminClient, topics: Collection[str]) -> dict[PartitionId, int | None]:
    """Return the leaders of the partitions of ``topics``. Raises KafkaError."""
    return {
        (topic["name"], state["partition_index"]): state["leader_id"] if state["leader_id"] >= 0 else None
        for topic in describe_topics(admin, sorted(topics))
        for state in topic["partitions"]
    }
