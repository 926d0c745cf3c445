"""Test how single records are fetched: which requests are sent, and how the reads of keys and of ranges go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError, NotLeaderForPartitionError
from kafka.record import MemoryRecordsBuilder

from topicwarden.kafka.read import partition_fetcher
from topicwarden.kafka.read.newest_records import _RangeReader, _Record
from topicwarden.kafka.read.partition_fetcher import PartitionFetcher, PartitionReader
from topicwarden.kafka.read.record_decoder import UnreadableRecords
from topicwarden.kafka.read.single_records import _KeyReader

SMALL = 1_000


class Log:
    """The batches of partition 0 of the topic ``t``, each with one record, and the requests that its leader got.

    ``large`` are the offsets of batches that are larger than the limit ``SMALL``.
    """

    def __init__(self, offsets: Iterable[int], end: int, *, large: Iterable[int] = (), leader: int = 1) -> None:
        self.offsets, self.end, self.large, self.leader = list(offsets), end, {*large}, leader
        self.requests: list[tuple[int, int, int]] = []
        self.failing = 0

    def fetch(self, _: Any, leader: int, offsets: Mapping[Any, int], limit: int, *, committed: bool) -> list[Any]:
        ((at, offset),) = offsets.items()
        self.requests.append((leader, offset, limit))
        if self.failing:
            self.failing -= 1
            raise KafkaTimeoutError("muted")
        error = 0 if leader == self.leader else NotLeaderForPartitionError.errno
        found = next((each for each in self.offsets if each >= offset), None)
        fits = found is not None and (limit == 1 or found not in self.large)
        partition = SimpleNamespace(
            partition_index=at[1],
            error_code=error,
            records=batch(found) if found is not None and fits and not error else b"",
            aborted_transactions=None,
            high_watermark=self.end,
            last_stable_offset=self.end,
        )
        return [SimpleNamespace(topic=at[0], partitions=[partition])]

    def read(self, reader: PartitionReader, leader: int | None = 1, timeout_s: float = 60) -> None:
        admin: Any = None
        PartitionFetcher(admin, {reader.at: leader}, [SMALL], timeout_s).read([reader], committed=False)


def batch(offset: int) -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20, offset=offset)
    builder.append(1_000 + offset, f"key {offset}".encode(), b"value", [])
    builder.close()
    return bytes(builder.buffer())


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log([3, 4, 9], end=12, large=[4])
    monkeypatch.setattr(partition_fetcher, "fetch", log.fetch)
    monkeypatch.setattr(partition_fetcher, "_PAUSE_S", 0.0)
    monkeypatch.setattr(partition_fetcher, "current_leaders", lambda admin, topics: {("t", 0): log.leader})
    return log


def test_keys_are_read_at_their_offsets_only(log: Log) -> None:
    reader = _KeyReader("t", 0, [3, 5, 9, 11])
    log.read(reader)
    assert reader.keys == {3: b"key 3", 9: b"key 9"}
    assert [(offset, limit) for _, offset, limit in log.requests] == [(3, SMALL), (5, SMALL), (11, SMALL), (11, 1)]


def test_a_batch_above_the_limit_is_fetched_alone_and_the_next_ones_with_the_limit(log: Log) -> None:
    records: list[_Record] = []
    reader = _RangeReader("t", 0, 3, 10, records)
    log.read(reader)
    assert (reader.complete, [record.key for record in records]) == (True, [b"key 3", b"key 4", b"key 9"])
    assert log.requests == [(1, 3, SMALL), (1, 4, SMALL), (1, 4, 1), (1, 5, SMALL)]


def test_the_end_of_the_log_completes_a_range(log: Log) -> None:
    reader = _RangeReader("t", 0, 10, 12, [])
    log.end = 10
    log.read(reader)
    assert reader.complete


@pytest.mark.parametrize("leader", [2, None])
def test_a_leader_that_has_moved_is_found(log: Log, leader: int | None) -> None:
    reader = _KeyReader("t", 0, [9])
    log.read(reader, leader)
    assert reader.keys == {9: b"key 9"}


def test_a_request_that_fails_is_repeated_and_then_given_up(log: Log) -> None:
    log.failing = 3
    reader = _KeyReader("t", 0, [3])
    log.read(reader)
    assert reader.keys == {3: b"key 3"}
    log.failing = 1_000
    with pytest.raises(UnreadableRecords, match="did not answer: KafkaTimeoutError"):
        log.read(_KeyReader("t", 0, [3]))
    assert len(log.requests) == 4 + PartitionReader.most_failures


def test_a_range_is_incomplete_if_the_time_has_run_out(log: Log) -> None:
    reader = _RangeReader("t", 0, 3, 10, [])
    log.read(reader, timeout_s=0)
    assert (reader.complete, log.requests) == (False, [])


def test_a_deleted_record_has_no_key_and_a_damaged_batch_is_an_error() -> None:
    reader = _KeyReader("t", 0, [3, 4])
    deleted = SimpleNamespace(error_code=1)
    reader.take(deleted, committed=False, larger=True)
    assert (reader.next_offset, reader.keys) == (4, {})
    damaged = SimpleNamespace(error_code=0, records=b"\x00" * 40, aborted_transactions=None)
    with pytest.raises(UnreadableRecords, match="damaged"):
        reader.take(damaged, committed=False, larger=True)
