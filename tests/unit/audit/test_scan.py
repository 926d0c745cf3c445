"""Test the scan without Spark: what it reads, notes of the reader, custom partitioners, and errors of Java."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from tests.support.subjects import HORIZON, NOW, subject
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.history import incremental_scan
from topicwarden.audit.history.incremental_scan import IncrementalScan, scan_since
from topicwarden.audit.history.offset_blocks import MOST_PARTS, OffsetBlocks, StoredPartition
from topicwarden.audit.history.scan_plan import (
    HistoryState,
    ScanStep,
    WrittenPart,
    has_new_records,
    known_partition,
    plan_scan,
    terms_digest,
)
from topicwarden.audit.history.topic_state import (
    Checkpoint,
    KnownPartition,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.contracts import NO_CONTRACTS, Contracts, build_contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.java_errors import remedy, root_cause
from topicwarden.audit.scan.key_scan import TopicKeys, misplaced
from topicwarden.audit.scan.offset_ranges import MOST_OFFSETS, OffsetRange, pack_tasks
from topicwarden.audit.scan.partition_reads import BLOCK, PartitionRead
from topicwarden.audit.scan.reader_notes import Note, last_gap, merge_faults, timestamp_types
from topicwarden.model.contents import Contents, KeyContents, TimestampContents
from topicwarden.model.field_types import LARGEST
from topicwarden.model.verdict import Verdict
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

# How offsets are divided: into tasks of similar sizes, and into few stored parts.


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


@pytest.mark.parametrize(
    ("rolled", "end", "reason"),
    [(50, 100, ""), (100, 100, ""), (0, 100, ""), (70, 100, "a border of the cleaner moved"), (70, 101, "")],
)
def test_counts_before_a_border_that_moved_are_those_of_a_full_audit(rolled: int, end: int, reason: str) -> None:
    """A full audit counts up to the border itself; the history only knows the counts up to its checkpoints."""
    of = subject(live={"cleanup.policy": "compact"})
    assert of.live
    extent = replace(of.live.extents[0], end=end)
    replicas = replace(of.live.replicas[0], leader_epoch=3)
    live = replace(of.live, extents={0: extent}, replicas=(replicas,))
    snapshot = replace(of.snapshot, topics={"t": live})
    horizon = replace(HORIZON, start=0, rolled=rolled, cleanable=rolled, overdue=0, lagging=0)
    read = PartitionRead(OffsetRange(0, "t", 0, 0, end), True, horizon)
    checkpoints = (Checkpoint(50, 50, 500, 20), Checkpoint(100, 100, 1_000, 30))
    known = KnownPartition(("p",), (100,), terms_digest(live, NO_CONTRACTS), 0, False, 0, checkpoints, "{}")
    pair = RememberedRecord(0, 1, 5, 9)
    partition = PartitionState(0, 0, 100, 100, None, replicas.leader, replicas.leader_epoch, 0, known)
    state = TopicState("c", "t", live.id, NOW - 1, {}, {}, (partition,), remembered_records=(pair,))
    history = HistoryState({"t": state}, {("t", 0): frozenset({pair})}, frozenset({"p"}), frozenset({("t", 0)}))
    (step,) = plan_scan([read], snapshot, NO_CONTRACTS, history)
    assert step.reason.startswith(reason) and bool(step.reason) is bool(reason)


def test_a_limit_of_any_size_fits_into_a_number_of_the_reader() -> None:
    limits = {"timestamps": {"max_ahead": LARGEST, "max_late": LARGEST}, "records": {"max_bytes": LARGEST}}
    of = subject(contents=Contents.model_validate(limits))
    assert of.live and of.declared
    declared = {"t": Declaration(of.declared, SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))}
    terms = build_contracts([of.live], declared, Path(), None, NOW).topics["t"]
    assert terms == {"late": LARGEST, "records": {"largest": LARGEST, "latest": LARGEST}}


# What ``--since last`` reads of a partition whose records ``[100, 20_000)`` are known.

KNOWN = range(100, 20_000)


def planned(log: range, rules: Contracts, *, kept: bool = True, read_to: int | None = None) -> tuple[ScanStep, bool]:
    """Return the step for the partition, whose log now has the offsets of ``log``, and ``has_new_records``.

    ``kept``: the leader has all known records. ``read_to``: the end of the part that is read; by default, of the log.
    """
    of = subject()
    assert of.live
    live = replace(of.live, extents={0: replace(of.live.extents[0], start=log.start, end=log.stop)})
    snapshot = replace(of.snapshot, topics={"t": live})

    def read(offsets: range) -> PartitionRead:
        start = offsets.start
        horizon = replace(HORIZON, start=start, rolled=start, cleanable=start, overdue=start)
        return PartitionRead(OffsetRange(0, "t", 0, start, offsets.stop), False, horizon)

    (first,) = plan_scan([read(KNOWN)], snapshot, rules, HistoryState({}, {}, frozenset(), frozenset()))
    counts = PartitionCounts(records=len(KNOWN))
    known = known_partition(first, counts, live, rules, WrittenPart("part", len(KNOWN), "{}"))
    partition = PartitionState(0, KNOWN.start, KNOWN.stop, KNOWN.stop, None, 1, 1, 0, known)
    states = {"t": TopicState("c", "t", live.id, NOW - 1, {}, {}, (partition,))}
    history = HistoryState(states, {}, frozenset({"part"}), frozenset({("t", 0)} if kept else ()))
    (step,) = plan_scan([read(range(log.start, read_to or log.stop))], snapshot, rules, history)
    return step, has_new_records([live], states)


@pytest.mark.parametrize("rules", [NO_CONTRACTS, Contracts(by_key=frozenset({"t"}))])
def test_a_log_without_changes_is_not_read(rules: Contracts) -> None:
    step, new = planned(KNOWN, rules)
    assert (step.unchanged, step.reason, step.stored.parts, new) == (True, "", ("part",), False)


@pytest.mark.parametrize("rules", [NO_CONTRACTS, Contracts(by_key=frozenset({"t"}))])
@pytest.mark.parametrize("end", [KNOWN.stop, KNOWN.stop + 5])
def test_a_log_whose_start_moved_back_is_read_in_full(end: int, rules: Contracts) -> None:
    """A broker that was killed forgets a log start that it has not written to its checkpoint.

    The records that ``DeleteRecords`` had deleted are then present again.
    """
    step, new = planned(range(40, end), rules)
    assert step.reason == "deleted records are present again"
    assert (step.read.range.start, step.read.range.end, step.read.reread) == (40, end, None)
    assert (step.known, step.stored.parts, step.unchanged) == (None, (), False)
    assert new == (end > KNOWN.stop)


def test_the_block_whose_first_records_were_deleted_is_read_again() -> None:
    step, new = planned(range(150, KNOWN.stop), NO_CONTRACTS)
    assert (step.reason, step.read.range.size, step.unchanged, new) == ("", 0, False, False)
    assert (step.read.reread, step.stored.end) == (OffsetRange(0, "t", 0, 150, BLOCK), KNOWN.stop)
    at_a_block, _ = planned(range(BLOCK, KNOWN.stop), NO_CONTRACTS)
    assert at_a_block.unchanged


@pytest.mark.parametrize("rules", [NO_CONTRACTS, Contracts(by_key=frozenset({"t"}))])
@pytest.mark.parametrize("end", [KNOWN.stop, KNOWN.stop + 5])
def test_a_log_that_lost_known_records_is_read_in_full_even_if_it_has_grown_since(end: int, rules: Contracts) -> None:
    step, _ = planned(range(KNOWN.start, end), rules, kept=False)
    assert step.reason == "the leader changed, and the log may have been truncated"
    assert (step.read.range.start, step.read.range.end, step.known) == (KNOWN.start, end, None)


def test_a_log_that_was_truncated_is_read_in_full() -> None:
    step, _ = planned(range(KNOWN.start, KNOWN.stop - 1), NO_CONTRACTS)
    assert step.reason == "the log was truncated"


def test_an_internal_topic_of_which_less_is_read_was_not_truncated() -> None:
    step, _ = planned(range(KNOWN.start, KNOWN.stop + 5), NO_CONTRACTS, read_to=KNOWN.stop - 1)
    assert step.reason == "a smaller part of an internal topic is read than last time"
    assert (step.read.range.start, step.read.range.end) == (KNOWN.start, KNOWN.stop - 1)


def test_records_with_keys_that_were_deleted_need_a_full_read() -> None:
    step, _ = planned(range(150, KNOWN.stop), Contracts(by_key=frozenset({"t"})))
    assert (step.reason, step.read.range.start) == ("retention deleted records with keys", 150)


# How the reader's notes on several ranges of a partition are merged.

MAX_LATE = 1_000


def note(start: int, lowest: int, highest: int, late: tuple[int, ...] = (), **more: Any) -> Note:
    """Return the note on a range with timestamps from ``lowest`` to ``highest``; offsets ``late`` are late."""
    fault = {"rule": "timestamp-late", "reason": "older than declared", "excerpt": "", "undecided": False}
    return {
        "start": start,
        "highest": NOW + highest,
        "lowest": NOW + lowest,
        "lowest_offset": start + 5,
        "types": {},
        "faults": [{**fault, "count": len(late), "offsets": late}] if late else [],
        "last_gap": None,
        **more,
    }


def message(*notes: Note) -> str:
    contents = Contents(timestamps=TimestampContents(max_late=MAX_LATE))
    counts = PartitionCounts(records=9, faults=merge_faults(notes, MAX_LATE))
    (judgement,) = CHECKS["timestamp-late"].judge(subject(counts, contents=contents))
    assert judgement.verdict is Verdict.FAIL
    return judgement.message.partition(" with a timestamp")[0]


def test_late_records_of_one_range_are_counted() -> None:
    assert message(note(0, 0, 5_000, late=(3, 4)), note(100, 5_000, 6_000)) == "2 records"


def test_late_records_of_an_earlier_range_make_a_lower_bound() -> None:
    assert message(note(0, 4_500, 5_000), note(100, 3_000, 3_500)) == "at least 1 record"
    assert message(note(0, 4_500, 5_000), note(100, 1_000, 6_000, late=(110,))) == "at least 1 record"


def test_records_that_are_read_again_are_not_late_compared_with_known_later_records() -> None:
    """The later ranges of an audit begin where the known records end; the others are of a block that was cut."""
    found = OffsetBlocks()
    for one in (note(100, 1_000, 2_000), note(300, 8_900, 9_500)):
        found.add({"note": json.dumps(one)}, known_end=300)
    known = [note(0, 0, 4_000), note(100, 4_000, 9_000)]
    assert merge_faults([*known, *found.notes], MAX_LATE, 100) == ()
    (late,) = merge_faults([*known, *found.notes, note(400, 8_000, 8_500)], MAX_LATE, 100)
    assert (late.offsets, late.at_least, late.undecided) == ((405,), True, False)


def test_records_that_are_late_compared_with_records_that_may_be_deleted_are_undecided() -> None:
    known, new = note(0, 4_500, 5_000), note(100, 3_000, 3_500)
    (late,) = merge_faults([known, new], MAX_LATE, 1)
    assert (late.undecided, late.offsets) == (True, (105,))
    assert [fault.undecided for fault in merge_faults([known, note(50, 4_900, 5_000), new], MAX_LATE, 1)] == [False]


def test_a_partition_is_read_in_full_to_decide_whether_records_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    step, _ = planned(range(BLOCK, KNOWN.stop + 5), NO_CONTRACTS)
    late = PartitionCounts(faults=merge_faults([note(100, 4_500, 5_000), note(KNOWN.stop, 0, 0)], MAX_LATE, BLOCK))

    def scan_steps(_: object, __: object, steps: list[ScanStep], *___: object, **____: object) -> IncrementalScan:
        return IncrementalScan(
            {each.read.topic_partition: late if each.known else PartitionCounts(records=7) for each in steps}
        )

    monkeypatch.setattr(incremental_scan, "_scan_steps", scan_steps)
    monkeypatch.setattr(incremental_scan, "still_present", lambda *_: {})
    unused = cast(Any, None)
    found = scan_since(unused, unused, [step], unused, NO_CONTRACTS, deleted_keys=(), store=unused, rate=None)
    assert found is not None
    assert found.counts["t", 0].records == 7
    assert found.notes == ("1 partition read in full: records are late compared with records that may be deleted",)


def test_deleted_records_have_no_timestamp_type_and_no_gap() -> None:
    notes = [
        note(0, 0, 0, types={"CreateTime": [5, 99]}, last_gap=40),
        note(100, 0, 0, types={"LogAppendTime": [5, 104]}),
    ]
    assert timestamp_types(notes, 99).keys() == {"CreateTime", "LogAppendTime"}
    assert timestamp_types(notes, 100).keys() == {"LogAppendTime"}
    assert (last_gap(notes, 40), last_gap(notes, 41)) == (40, None)


def test_a_gap_in_any_range_is_a_gap() -> None:
    assert last_gap([note(0, 0, 0), note(100, 0, 0)]) is None
    assert last_gap([note(0, 0, 0, last_gap=7), note(100, 0, 0)]) == 7


def test_a_summary_without_gaps_may_have_gaps() -> None:
    reported = note(100, 0, 0)
    del reported["last_gap"]
    assert last_gap([reported]) == 100


# Test that an audit never imports a topic's custom partitioner unless the stack lists the partitioner.

NAME = "planted_partitioner:place"


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """Yield the path of a file that the module writes when it is imported."""
    path = tmp_path / "imported"
    (tmp_path / "planted_partitioner.py").write_text(
        f"open({str(path)!r}, 'w').close()\ndef place(key, partitions): return 0\n", encoding="utf-8"
    )
    yield path
    sys.modules.pop("planted_partitioner", None)


def _judged(tmp_path: Path, contents: Contents, *functions: str) -> str:
    # The audit decides whether to run the partitioner before it uses the DataFrame.
    keys = TopicKeys("a", 3, contents, {}, ())
    return misplaced(cast(DataFrame, None), keys, tmp_path, frozenset(functions))[1]


def test_a_function_that_is_not_listed_is_not_imported(tmp_path: Path, marker: Path) -> None:
    message = _judged(tmp_path, Contents(key=KeyContents(partition_function=NAME)), "planted_partitioner:other")
    assert "is not listed in topicwarden:partitionFunctions" in message
    assert not marker.exists()


def test_a_function_that_is_listed_is_imported(tmp_path: Path, marker: Path) -> None:
    assert "listed" not in _judged(tmp_path, Contents(key=KeyContents(partition_function=NAME)), NAME)
    assert marker.exists()


def test_an_expression_that_calls_java_is_not_run(tmp_path: Path) -> None:
    expression = "reflect('java.lang.System', 'getenv', 'HOME') % partitions"
    assert "must not call Java" in _judged(tmp_path, Contents(key=KeyContents(partition_expression=expression)))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def place(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("assert False", "AssertionError"),
    ],
)
def test_a_module_that_cannot_be_imported_makes_only_its_topic_undecidable(
    tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "broken_partitioner.py").write_text(f"{text}\n", encoding="utf-8")
    message = _judged(
        tmp_path, Contents(key=KeyContents(partition_function="broken_partitioner:place")), "broken_partitioner:place"
    )
    assert (
        message == f"the declared partitioner returned no result: the import of broken_partitioner failed with {error}"
    )


# The remedies in the message about a failed scan.

_LOST = "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "


@pytest.mark.parametrize(
    "message",
    [
        f"{_LOST}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
        "org.apache.spark.shuffle.MetadataFetchFailedException: missing an output location for shuffle 0",
        f"{_LOST}FetchFailed(null, shuffleId=0, mapIndex=-1, mapId=-1, reduceId=0)",
        f"{_LOST}Lost task 0.0 in stage 3.0 (TID 3) (host): java.lang.OutOfMemoryError: Java heap space",
        f"{_LOST}java.io.IOException: No space left on device",
    ],
)
def test_a_spark_failure_suggests_memory_and_disk(message: str) -> None:
    assert remedy(RuntimeError(message)).startswith("Spark lost an executor or its files: give executors more memory")


def test_a_cluster_failure_suggests_to_check_the_cluster() -> None:
    lost = f"{_LOST}Lost task 0.0 in stage 3.0 (TID 3) (host executor driver): TimeoutException: no answer in 15 s"
    assert remedy(RuntimeError(lost)) == "check that the cluster is reachable, then audit again"


class _Thrown(Py4JJavaError):  # type: ignore[misc]  # py4j has no types
    """A Java exception ``name`` with a ``message`` and no cause."""

    def __init__(self, name: str, message: str | None) -> None:
        of_class = SimpleNamespace(getName=lambda: name)
        self.java_exception = SimpleNamespace(
            getCause=lambda: None, getMessage=lambda: message, getClass=lambda: of_class
        )


@pytest.mark.parametrize(
    ("name", "message", "text"),
    [
        (
            "java.lang.NoClassDefFoundError",
            "javax/ws/rs/ext/RuntimeDelegateImpl",
            "Spark has no class javax.ws.rs.ext.RuntimeDelegateImpl: add its library to Spark",
        ),
        ("java.io.IOException", "no route\nat line 1", "no route"),
        ("java.io.EOFException", None, "java.io.EOFException"),
    ],
)
def test_the_root_cause_is_one_line(name: str, message: str | None, text: str) -> None:
    assert root_cause(_Thrown(name, message)) == text
