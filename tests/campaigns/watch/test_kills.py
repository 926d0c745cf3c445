"""Kill a watch at random moments while records arrive: its history has each offset exactly once.

``TOPICWARDEN_KILLS`` asks for more kills, ``TOPICWARDEN_SEED`` for other moments.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from pyspark.sql import SparkSession

from tests.support.command import topicwarden
from tests.support.watched import COMPACTED, END_S, PLAIN, watching
from topicwarden.audit.history.store import HistoryStore
from topicwarden.audit.history.topic_state import PartitionState
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.model.project import Project

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "2"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "28"))
SHARE = 0.3
"""The longest time from the first report of a watch to its kill, as a share of the time until that report."""


@dataclass
class Arrivals:
    """The number of records that were written to both topics until now."""

    written: int = 0


@contextmanager
def arriving(sandbox: Sandbox) -> Iterator[Arrivals]:
    """Write records to both topics during the block: every seventh without a key, or with one that repeats."""
    arrivals, ending = Arrivals(), threading.Event()

    def write() -> None:
        with writing(sandbox.bootstrap_servers) as writer:
            while not ending.wait(0.05):
                for _ in range(20):
                    number = arrivals.written
                    writer.send(PLAIN, None if number % 7 == 0 else f"key-{number}", f"value-{number}")
                    writer.send(COMPACTED, f"key-{number % 1_000}", f"value-{number}")
                    arrivals.written += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield arrivals
    finally:
        ending.set()
        thread.join(120)


def no_spark() -> NoReturn:
    raise AssertionError("a history on this machine is read without Spark")


def remembered(project: Project) -> Mapping[tuple[str, int], PartitionState]:
    """Return the last state of each partition of both topics in the history of the watch."""
    store = HistoryStore(no_spark, (project.cache / "history" / "dev").absolute().as_uri())
    return {
        (state.topic, partition.partition): partition
        for state in store.last_states()
        if state.topic in (PLAIN, COMPACTED)
        for partition in state.partitions
    }


def require_each_offset_once(states: Mapping[tuple[str, int], PartitionState]) -> int:
    """Check that all counts are those of the offsets from 0 to the end, which all are records; return their number."""
    total = 0
    for at, state in states.items():
        if state.end == 0:
            continue
        assert state.known, at
        last, committed = state.known.checkpoints[-1], state.known.committed
        assert (state.known.start, last.offset, last.records) == (0, state.end, state.end), at
        if committed is not None:
            assert (committed.start, committed.counts.records) == (0, committed.end), at
            assert committed.end <= state.end, at
        total += last.records
    return total


def compared(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts of both topics, and the failures that are about counts of records."""
    facts = {each["name"]: each for each in report["topics"] if each["name"] in (PLAIN, COMPACTED)}
    for partition in (partition for each in facts.values() for partition in each["partitions"]):
        del partition["log_bytes"]
    missing_keys = [
        (each["message"], each["evidence"])
        for each in report["findings"]
        if (each["topic"], each["check"]) == (PLAIN, "null-key")
    ]
    return {**facts, "null keys": missing_keys}


def test_no_offset_is_missed_or_doubled_whenever_a_watch_is_killed(
    project: Project, sandbox: Sandbox, spark: SparkSession
) -> None:
    print(f"TOPICWARDEN_KILLS={KILLS} TOPICWARDEN_SEED={SEED}")
    draw, totals, first_report_s = random.Random(SEED), [0], 0.0
    with arriving(sandbox) as arrivals:
        for number in range(KILLS):
            began = time.monotonic()
            with watching(project.root, "--every", "1s") as watch:
                if number % 2:  # it starts, or audits for the first time
                    time.sleep(draw.uniform(0, first_report_s))
                else:  # it audits again and again
                    watch.wait_for_report()
                    first_report_s = time.monotonic() - began
                    time.sleep(draw.uniform(0, SHARE * first_report_s))
            assert watch.process.returncode == -9, watch.printed
            totals.append(require_each_offset_once(remembered(project)))
            print(f"kill {number + 1}: {totals[-1]:,} records in the history", flush=True)
            assert totals[-1] >= totals[-2]
        assert totals[1]
        assert arrivals.written
    with watching(project.root, "--every", "1h") as watch:
        watch.wait_for_report()
        report = json.loads(watch.get("/report.json").text)
        assert watch.end() < END_S
    assert require_each_offset_once(remembered(project)) == 2 * arrivals.written
    assert not any("history" in note for note in report["notes"])
    full = topicwarden("audit", "--stack", "dev", "--history", "none", "--format", "json", cwd=project.root)
    assert compared(report) == compared(json.loads(full.out))
    grown = sum(later > earlier for earlier, later in itertools.pairwise(totals))
    print(
        f"{KILLS} kills, {2 * arrivals.written:,} records; {grown} watches had finished an audit when they were killed"
    )
