"""Test how offsets are divided: into tasks of similar sizes, and into few stored parts."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import cast

from pyspark.sql import SparkSession

from topicwarden.audit.history.stored_partitions import MOST_PARTS, StoredPartition
from topicwarden.audit.scan.offset_ranges import MOST_OFFSETS, OffsetRange, pack_tasks


def session(cores: int) -> SparkSession:
    """Return a substitute for a session. The code under test only reads the number of cores."""
    return cast(SparkSession, SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores)))


def test_every_offset_is_read_once_and_the_work_is_even() -> None:
    ranges = [
        OffsetRange(part, "t", part, 10, 10 + size) for part, size in enumerate([2_500_000, 7, 900_000, 1, 400_000])
    ]
    tasks = pack_tasks(session(2), ranges)
    pieces = sorted((piece.part, piece.start, piece.end) for task in tasks for piece in task)
    for one in ranges:
        own = [(start, end) for part, start, end in pieces if part == one.part]
        assert own[0][0] == one.start
        assert own[-1][1] == one.end
        assert all(end == start for (_, end), (start, _) in pairwise(own))
    loads = [sum(piece.end - piece.start for piece in task) for task in tasks]
    assert len(tasks) == 4
    assert max(loads) <= MOST_OFFSETS


def test_ten_thousand_small_partitions_share_a_consumer_for_each_core() -> None:
    tasks = pack_tasks(session(2), [OffsetRange(part, "t", part, 0, 5) for part in range(10_000)])
    assert [len(task) for task in tasks] == [5_000, 5_000]


def test_no_task_is_empty() -> None:
    assert len(pack_tasks(session(8), [OffsetRange(0, "t", 0, 0, 1)])) == 1
    assert pack_tasks(session(8), []) == []


def test_a_range_is_split_only_if_it_would_keep_one_core_busy() -> None:
    ranges = [OffsetRange(part, "t", part, 0, size) for part, size in enumerate([3_000_000, 2_500_000, 2_000_000])]
    tasks = pack_tasks(session(2), ranges, whole=frozenset({0, 1, 2}))
    assert sorted(str(piece) for task in tasks for piece in task) == sorted(map(str, ranges))
    alone = [OffsetRange(0, "t", 0, 0, 16_000_000), OffsetRange(1, "t", 1, 0, 4_000_000)]
    cut = pack_tasks(session(2), alone, whole=frozenset({0, 1}))
    assert sorted(piece.end - piece.start for task in cut for piece in task) == [4_000_000, 6_000_000, 10_000_000]


def grown(first: int, more: list[int]) -> StoredPartition:
    current = StoredPartition("id", 0, ("p",), (first,))
    for number, read in enumerate(more):
        parts, records = current.with_part(f"p{number}", read)
        current = StoredPartition("id", 0, parts, records)
    return current


def test_history_parts_are_added_up_to_a_limit() -> None:
    current = grown(1_000, [10] * (MOST_PARTS - 1))
    assert (len(current.parts), current.parts[0]) == (MOST_PARTS, "p")


def test_later_ranges_are_merged_and_the_first_is_kept() -> None:
    current = grown(1_000, [10] * MOST_PARTS)
    assert current.parts == ("p", f"p{MOST_PARTS - 1}-joined")
    assert current.read == (1_000, 10 * MOST_PARTS)


def test_all_ranges_are_merged_if_the_later_ones_are_large() -> None:
    current = grown(1_000, [100] * MOST_PARTS)
    assert (current.parts, current.read) == ((f"p{MOST_PARTS - 1}-joined",), (1_000 + 100 * MOST_PARTS,))


def test_repeated_audits_keep_a_bounded_number_of_files() -> None:
    for rounds in range(1, 200):
        current = grown(1_000, [rounds % 7 + 1] * rounds)
        assert len(current.parts) <= MOST_PARTS
        assert sum(current.read) == 1_000 + (rounds % 7 + 1) * rounds
