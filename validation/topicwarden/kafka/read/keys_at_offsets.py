"""The keys of single records, fetched without a consumer group; values are not kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Never

from kafka import KafkaAdminClient

from topicwarden.kafka.connect.retry import retry_transient
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
