"""Test which retained records are read of large topics, by which process, and how counts become one result."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support.projects import project_of
from topicwarden.audit import retained_records
from topicwarden.audit.scan import partition_reads, reader_process
from topicwarden.audit.scan.contracts import NO_CONTRACTS
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note, RangeTotals, merge_faults
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas
from topicwarden.model.problem import MissingExtra, Refusal
from topicwarden.model.readability import Readability, SchemaScan, UnreadablePartition
from topicwarden.model.subject import RegisteredSchema
from topicwarden.model.topic import Topic
from topicwarden.toolchain import spark_reader

SCAN = SchemaScan("t", "value", "t-value", RegisteredSchema("avro", '"int"'))


def live(name: str, *sizes: int, leaderless: int = 0) -> LiveTopic:
    """Return a topic whose partitions have ``sizes`` committed offsets from 100 on, and some open ones."""
    extents = {
        number: PartitionExtent(100, 107 + each, 100 + each, None, None, None) for number, each in enumerate(sizes)
    }
    states = tuple(PartitionReplicas(number, 1, (1,), (1,)) for number in range(len(sizes) + leaderless))
    return LiveTopic(Topic(name, len(states), 1), "id", {}, states, extents)


def note(start: int, *faults: tuple[str, str, bool, int, int, int, int | None]) -> Note:
    """Return a note of the reader: rule, reason, undecided, count, first and last offset, and newest timestamp."""
    return {
        "start": start,
        "faults": [
            {
                "rule": rule,
                "reason": reason,
                "excerpt": "",
                "undecided": undecided,
                "count": count,
                "offsets": [first],
                "last_offset": last,
                **({} if newest is None else {"newest": newest}),
            }
            for rule, reason, undecided, count, first, last, newest in faults
        ],
    }


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ({"a": 5, "b": 7}, 100, {"a": 5, "b": 7}),
        ({"a": 5, "b": 1_000, "c": 1_000}, 105, {"a": 5, "b": 50, "c": 50}),
        ({"a": 1_000}, 10, {"a": 10}),
        ({}, 10, {}),
    ],
)
def test_small_topics_are_read_in_full(sizes: dict[str, int], most: int, expected: dict[str, int]) -> None:
    assert partition_reads._budgets(sizes, most) == expected


def test_the_newest_committed_offsets_of_each_partition_are_read() -> None:
    reads = retained_records._reads([live("t", 10, 500, 0)], 30)
    assert [str(read.range) for read in reads] == ["0:t:0:100:110", "1:t:1:580:600"]


def test_counts_of_several_tasks_become_one_result() -> None:
    topic = live("t", 10, 10)
    reads = retained_records._reads([topic], 100)
    faults = merge_faults(
        [
            note(105, ("unreadable:4", "a", False, 2, 106, 108, 7), ("unaffected:4", "x", False, 1, 109, 109, 9)),
            note(100, ("unreadable:4", "a", False, 3, 101, 104, 8), ("unreadable:4", "b", False, 1, 100, 100, None)),
            note(103, ("unreadable:4", "c", True, 1, 103, 103, 1), ("unreadable:44", "a", False, 1, 100, 100, 1)),
        ],
        None,
    )
    counts = {("t", 0): PartitionCounts(records=10, faults=faults), ("t", 1): PartitionCounts(records=9)}
    assert retained_records._result(4, SCAN, topic, reads, counts) == Readability(
        "t", "value", 19, 19, (UnreadablePartition(0, 6, 100, 108, 8),), {"a": 5, "b": 1}, {"c": 1}, {"x": 1}
    )


def test_what_was_not_read_is_part_of_what_is_retained() -> None:
    topic = live("t", 10, 10, leaderless=1)
    reads = retained_records._reads([topic], 10)
    counts = {("t", 0): PartitionCounts(records=5), ("t", 1): PartitionCounts(records=2, unread="no broker answered")}
    found = retained_records._result(0, SCAN, topic, reads, counts)
    assert (found.scanned, found.retained) == (7, 20)
    assert found.undecided == {
        "partition 1 was not read to its end: no broker answered": 3,
        "partition 2 has no leader, so its records could not be read": 0,
    }
    assert not found.complete


def test_a_topic_that_could_not_be_read_at_all_is_an_error() -> None:
    topic = live("t", 10)
    counts = {("t", 0): PartitionCounts(unread="no broker answered")}
    found = retained_records._result(0, SCAN, topic, retained_records._reads([topic], 10), counts)
    assert found.error == "partition 0 was not read to its end: no broker answered"
    leaderless = retained_records._result(0, SCAN, live("t", leaderless=1), [], {})
    assert leaderless.error == "no partition has a leader"


RANGES = [OffsetRange(0, "t", 0, 0, 1)]


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    jar = tmp_path / "reader.jar"
    jar.touch()
    monkeypatch.setattr(spark_reader, "PACKAGED", jar)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return jar


def read(tmp_path: Path) -> list[RangeTotals]:
    connection = Connection(("127.0.0.1:1",), tls=False)
    return reader_process.read_totals(project_of(tmp_path / "project", {}), connection, RANGES, NO_CONTRACTS, "{}")


def test_the_process_has_the_reader_before_the_jars_of_pyspark(reader: Path, tmp_path: Path) -> None:
    found, jars = reader_process._class_path(project_of(tmp_path / "project", {}))
    spec = importlib.util.find_spec("pyspark")
    assert spec and spec.origin
    assert found == str(reader)
    assert jars == str(Path(spec.origin).parent / "jars" / "*")


def test_the_jars_of_spark_home_come_before_those_of_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    _, jars = reader_process._class_path(project_of(tmp_path / "project", {}))
    assert jars == str(tmp_path / "spark" / "jars" / "*")


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader_process, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'topicwarden\[audit\]'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'failed no topic'; exit 1", "the scan failed: no topic"),
        ("echo 'Error: heap' >&2; exit 3", "the scan ended with exit code 3: Error: heap"),
    ],
)
def test_a_process_that_fails_says_why(
    script: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setattr(reader_process, "require_java", lambda: java)
    with pytest.raises(Refusal) as refusal:
        read(tmp_path)
    assert str(refusal.value) == expected


def test_the_options_are_in_a_file_that_only_this_user_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    java = tmp_path / "java"
    java.write_text(
        f'#!/bin/sh\nfor last; do :; done\nstat -c %a "$(dirname "$last")" > {seen}\necho "$@" >> {seen}\n'
        'echo \'totals {"part": 0, "bands": [], "notes": []}\'\n',
        encoding="utf-8",
    )
    java.chmod(0o755)
    monkeypatch.setattr(reader_process, "require_java", lambda: java)
    (totals,) = read(tmp_path)
    assert totals.part == 0
    mode, arguments = seen.read_text(encoding="utf-8").splitlines()
    assert mode == "700"
    assert "127.0.0.1:1" not in arguments
