"""Run a small part of the soundness suite; ``python -m tests.campaigns.soundness`` runs all of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.campaigns.soundness.broker import room
from tests.campaigns.soundness.logs import read_logs
from tests.campaigns.soundness.oracle import denied, unknown_checks
from tests.campaigns.soundness.planting import Found, plant
from tests.campaigns.soundness.rounds import LEAST_PRECISION, Event, Stage, Tally
from tests.campaigns.soundness.scenario import Chance, Configure, Record, Recreate, Transact, Write
from tests.campaigns.soundness.scene import Works
from tests.campaigns.soundness.workload import Workload, running_workload
from topicwarden.audit.checks import CHECKS
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.toolchain import Toolchain

SEED, HISTORIES, VARIANTS = 11, 12, 1


@dataclass(frozen=True)
class Ran:
    stage: Stage
    tally: Tally
    found: Found
    dumped: list[tuple[int, int, int]]
    """The batches of one segment, from Kafka's own tool: first offset, last offset, and largest timestamp."""
    read: list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def ran(tools: Toolchain, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    print(f"seed {SEED}")
    tally = Tally()
    names = tuple(f"h{number}" for number in range(HISTORIES))
    histories = [Chance(name, f"{SEED}/{number}", names).history() for number, name in enumerate(names)]
    with room(tmp_path_factory.mktemp("soundness")) as ours:
        with running_workload(ours.servers) as workload:
            _fill(workload)
        segment = ours.data / "dumped-0" / f"{0:020}.log"
        command = [str(tools.java), "-cp", f"{tools.kafka_jars}/*", "kafka.tools.DumpLogSegments"]
        output = subprocess.run([*command, "--files", str(segment)], capture_output=True, text=True, check=True).stdout
        (log,) = read_logs(ours.data, "dumped").values()
        stage = Stage(ours, spark)
        found = plant(stage, VARIANTS, SEED, tally, histories)
        batches = [batch for one in log.segments for batch in one.batches]
        yield Ran(
            stage, tally, found, list(_dumped(output)), [(batch.first, batch.last, batch.time) for batch in batches]
        )


def _fill(workload: Workload) -> None:
    topic = Topic("dumped", 1, 1, {"compression.type": "gzip"})
    workload.begin([Chance("dumped", "0").of(topic)])
    workload.do("dumped", Write((Record(0, b"a", b"1"), Record(0, None, None, ahead=-9))))
    workload.do("dumped", Transact((Record(0, b"b", b""),), "abort", 0.0))


def _dumped(output: str) -> Iterator[tuple[int, int, int]]:
    for line in output.splitlines():
        if line.startswith("baseOffset:"):
            words = line.replace(":", "").split()
            reported = dict(zip(words[::2], words[1::2], strict=False))
            yield int(reported["baseOffset"]), int(reported["lastOffset"]), int(reported["CreateTime"])


def test_every_fail_agrees_with_the_brokers_files(ran: Ran) -> None:
    assert ran.tally.denied == []
    assert ran.tally.fails.total() > 100


def test_every_broken_rule_that_compares_records_is_found(ran: Ran) -> None:
    assert ran.tally.missed == []
    assert min(ran.tally.compared[outcome] for outcome in ("broken", "kept")) > 0


def test_every_count_and_offset_equals_the_log_on_disk(ran: Ran) -> None:
    assert ran.tally.inexact == []
    assert ran.tally.exact > 50


def test_every_planted_fault_is_found_at_the_second_audit_at_the_latest(ran: Ran) -> None:
    assert ran.found.missed == []
    assert set(ran.found.planted.values()) == {VARIANTS}


def test_every_suspect_is_settled_by_the_next_audit(ran: Ran) -> None:
    assert ran.tally.outcomes.judged > 5 * VARIANTS
    assert ran.tally.outcomes.precision >= LEAST_PRECISION, ran.tally.outcomes.unsettled


def test_hostile_records_do_not_affect_other_topics(ran: Ran) -> None:
    assert ran.found.hostile.trouble == []
    assert set(ran.found.hostile.planted.values()) == {VARIANTS}


def test_a_recreated_topic_with_old_settings_is_reported(ran: Ran, tmp_path: Path) -> None:
    """Nobody set the configuration on this topic, but the restarted broker applies it."""
    topic = Topic("returned", 1, 1, {"segment.ms": "60000"})
    with running_workload(ran.stage.room.servers) as workload:
        workload.begin([Chance(topic.name, "0").of(topic)])
        workload.do(topic.name, Configure((("max.compaction.lag.ms", "500"),)))
        workload.do(topic.name, Recreate())
        ran.stage.inject(Event())
        workload.reconnect()
        scene = ran.stage.look(workload, topic.name, str(tmp_path), None, Works())
        workload.end()
    (drift,) = [one for one in scene.report.findings if one.verdict is Verdict.FAIL]
    assert (drift.check, drift.evidence["setting"]) == ("config-drift", "max.compaction.lag.ms")
    assert "set it by hand once" in drift.remedy
    assert denied(drift, scene) == ""


def test_the_oracle_reads_a_segment_as_kafkas_own_tool_does(ran: Ran) -> None:
    assert ran.read == ran.dumped
    # The two records are in one batch or two, depending on the producer's timing. The aborted record and its marker
    # follow.
    assert len(ran.read) in (3, 4)
    assert ran.read[-1][:2] == (3, 3)


def test_the_oracle_covers_every_check() -> None:
    assert unknown_checks(iter(CHECKS)) == []
