"""Test the history on disk: additions by audits, leftovers, unreadable files, and audits that share it.

Also the keys of a partition, and the trend.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from kafka.admin import NewTopic
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.broker.history.conftest import NOW, look
from tests.conftest import REPOSITORY
from tests.support import reports
from tests.support.reports import facts
from topicwarden.audit import run
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.key_store import FOLDER
from topicwarden.audit.history.outcomes import MOST_AUDITS, trend, worst_verdicts
from topicwarden.audit.history.store import KEPT_PARTS, HistoryStore, HistoryUnavailable
from topicwarden.audit.scan import offset_ranges
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport, Finding, PastAudit, PastFinding, TopicFacts
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.usage.history_files import VERSION

# The history on disk: additions by audits, leftovers of a killed audit, and unreadable files.

DAY = 86_400_000


def test_the_history_returns_the_last_state_of_each_topic(spark: SparkSession, history: str) -> None:
    AuditHistory(spark, history).save([look(at=NOW), look("other")], NOW)
    AuditHistory(spark, history).save([look(at=NOW + 1)], NOW + 1)
    later = AuditHistory(spark, history)
    assert later.last_states("c") == {"t": look(at=NOW + 1), "other": look("other")}
    assert later.last_states("another cluster") == {}
    assert later.notes == []


def test_two_audits_with_the_same_start_time_are_both_remembered(spark: SparkSession, history: str) -> None:
    for topic in ("a", "b"):
        AuditHistory(spark, history).save([look(topic)], NOW)
    assert set(AuditHistory(spark, history).last_states("c")) == {"a", "b"}


def test_the_files_of_a_killed_audit_are_ignored(spark: SparkSession, history: str) -> None:
    AuditHistory(spark, history).save([look()], NOW)
    (part,) = Path(history).glob(f"{VERSION}/states/*")
    (part / "_complete").unlink()
    after = AuditHistory(spark, history)
    assert after.last_states("c") == {}
    assert after.notes == []


def test_an_unreadable_history_is_reported_and_the_audit_continues(spark: SparkSession, history: str) -> None:
    AuditHistory(spark, history).save([look()], NOW)
    (file,) = Path(history).glob(f"{VERSION}/states/*/states.json.gz")
    file.write_bytes(b"no gzip")
    broken = AuditHistory(spark, history)
    assert broken.last_states("c") == {}
    assert "cannot be read, and is ignored" in broken.notes[0]


def test_a_history_of_another_version_is_reported_and_not_changed(spark: SparkSession, history: str) -> None:
    newer = Path(history) / "v9" / "states"
    newer.mkdir(parents=True)
    first = AuditHistory(spark, history)
    assert first.last_states("c") == {}
    assert "another version (v9)" in first.notes[0]
    first.save([look()], NOW)
    assert newer.is_dir()
    assert AuditHistory(spark, history).last_states("c") == {"t": look()}


def test_a_read_only_location_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blocked = AuditHistory(spark, str(tmp_path / "file"))
    blocked.save([look()], NOW)
    assert "cannot be written" in blocked.notes[0]


def test_without_a_history_nothing_is_read_or_written(spark: SparkSession) -> None:
    none = AuditHistory(spark, None)
    none.save([look()], NOW)
    assert none.last_states("c") == {}
    assert none.notes == []


def test_the_history_is_bounded_and_keeps_the_last_audit_of_every_topic(spark: SparkSession, history: str) -> None:
    AuditHistory(spark, history).save([look("rare")], NOW)
    for number in range(1, KEPT_PARTS + 4):
        AuditHistory(spark, history).save([look(at=NOW + number)], NOW + number)
    assert len(list(Path(history).glob(f"{VERSION}/states/*"))) == KEPT_PARTS + 1
    assert set(AuditHistory(spark, history).last_states("c")) == {"t", "rare"}
    AuditHistory(spark, history).save([look(at=NOW + 100 * DAY)], NOW + 100 * DAY)
    assert set(AuditHistory(spark, history).last_states("c")) == {"t"}


# Test that all ways to merge the keys of a partition give the same keys.

TOPIC, KEYS = "k.keys", 200_000


@pytest.fixture(scope="module")
def whole(project: Project, servers: list[str]) -> Iterator[TopicFacts]:
    """The facts from an audit in which one task reads each partition: ``KeyTable.java`` counts the keys."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1, topic_configs={"cleanup.policy": "compact"})])
    with writing(servers) as writer:
        for number in range(2 * KEYS):
            writer.send(TOPIC, f"key-{number % KEYS:06}", None if number % 11 == 0 else "x" * (number % 13))
    yield audited(project)
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])


def audited(project: Project) -> TopicFacts:
    with auditing(project, "dev", options=AuditOptions("none")) as look:
        return facts(look((TOPIC,)), TOPIC)


@pytest.mark.nightly("KeyTableTest.java keeps spilled keys, and broker/contents several tasks for a partition.")
def test_every_key_is_counted_once_if_most_keys_are_spilled(whole: TopicFacts) -> None:
    assert sum(one.keys or 0 for one in whole.partitions) == KEYS
    assert sum(one.superseded or 0 for one in whole.partitions) == KEYS


@pytest.mark.nightly("broker/contents keeps several tasks for a partition.")
def test_keys_merged_from_several_tasks_are_the_same(
    project: Project, whole: TopicFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_ranges, "MOST_OFFSETS", 10_000)
    monkeypatch.setattr(offset_ranges, "_MOST_SHARES", 0.3)
    assert audited(project) == whole


# The trend: the results of earlier audits of the same topics.


def ended(started: int, *verdicts: Verdict) -> AuditReport:
    topics = [reports.topic(f"t{number}", [1]) for number in range(len(verdicts))]
    found = [Finding(check="c", verdict=verdict, topic=f"t{number}") for number, verdict in enumerate(verdicts)]
    return reports.report(topics, found).model_copy(update={"started": started})


def test_a_topic_counts_by_its_worst_verdict() -> None:
    report = ended(1, Verdict.PASS, Verdict.SUSPECT, Verdict.PASS)
    more = [Finding(check="d", verdict=verdict, topic="t1") for verdict in (Verdict.FAIL, Verdict.PASS)]
    with_more = report.model_copy(update={"findings": [*report.findings, *more]})
    assert worst_verdicts(with_more) == {Verdict.FAIL: 1, Verdict.PASS: 2}


def test_each_audit_has_the_trend_of_earlier_ones(spark: SparkSession, history: str) -> None:
    past = [trend(AuditHistory(spark, history), ended(at, Verdict.PASS, Verdict.FAIL), ()) for at in (1, 2, 3)]
    one = {Verdict.PASS: 1, Verdict.FAIL: 1}
    findings = [PastFinding(topic="t1", check="c", verdict=Verdict.FAIL, since=1)]
    first, second = (PastAudit(started=at, topics=one, findings=findings) for at in (1, 2))
    assert past == [[], [first], [first.model_copy(update={"findings": None}), second]]


def test_only_audits_of_the_same_topics_are_compared(spark: SparkSession, history: str) -> None:
    trend(AuditHistory(spark, history), ended(1, Verdict.PASS), ("orders.*",))
    assert trend(AuditHistory(spark, history), ended(2, Verdict.PASS), ()) == []
    other = ended(3, Verdict.PASS).model_copy(update={"stack": "dev"})
    assert trend(AuditHistory(spark, history), other, ("orders.*",)) == []
    assert len(trend(AuditHistory(spark, history), ended(4, Verdict.PASS), ("orders.*",))) == 1


def test_two_concurrent_audits_are_both_remembered(spark: SparkSession, history: str) -> None:
    trend(AuditHistory(spark, history), ended(5, Verdict.PASS), ())
    (folder,) = Path(history).glob(f"{VERSION}/outcomes/*")
    trend(AuditHistory(spark, history), ended(6, Verdict.FAIL), ())
    (latest,) = folder.glob("*6-*")
    hidden = latest.rename(folder.parent / "aside")
    trend(AuditHistory(spark, history), ended(7, Verdict.SUSPECT), ())
    hidden.rename(latest)
    assert [past.started for past in trend(AuditHistory(spark, history), ended(8), ())] == [5, 6, 7]


def test_log_files_are_few_and_bounded(spark: SparkSession, history: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_AUDITS > 5
    monkeypatch.setattr("topicwarden.audit.history.outcomes.MOST_AUDITS", 3)
    past = [trend(AuditHistory(spark, history), ended(at, Verdict.PASS), ()) for at in range(1, 7)][-1]
    assert [each.started for each in past] == [3, 4, 5]
    assert len(list(Path(history).glob("v4/outcomes/*/*/_complete"))) == 3


def test_a_history_part_deleted_by_another_audit_is_skipped(history: str, spark: SparkSession) -> None:
    trend(AuditHistory(spark, history), ended(1), ())
    trend(AuditHistory(spark, history), ended(2), ())
    (file,) = Path(history).glob("v4/outcomes/*/*2-*/part.json")
    file.unlink()
    audit = AuditHistory(spark, history)
    assert [past.started for past in trend(audit, ended(3), ())] == [1]
    assert audit.notes == []


def test_without_a_history_there_is_no_trend(spark: SparkSession, history: str) -> None:
    assert trend(AuditHistory(spark, None), ended(1), ()) == []
    trend(AuditHistory(spark, history), ended(1), ())
    (file,) = Path(history).glob("v4/outcomes/*/*/part.json")
    file.write_bytes(b"no JSON")
    broken = AuditHistory(spark, history)
    assert trend(broken, ended(2), ()) == []
    assert "there is no trend" in broken.notes[0]


OWN = "file:///proc/self/cwd/history"
"""A different folder for each process, because Spark starts each executor in its own working directory."""


@dataclass(frozen=True)
class Found:
    """The histories, by address, of a driver with two executors in separate processes; and the driver's folder."""

    folder: Path
    shared: str
    answers: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def found(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Found:
    home, folder = tmp_path_factory.mktemp("spark"), tmp_path_factory.mktemp("driver")
    for entry in Path(pyspark.__file__).parent.iterdir():  # executors start in SPARK_HOME/work
        (home / entry.name).symlink_to(entry)
    shared = (folder / "shared").as_uri()
    done = subprocess.run(
        [sys.executable, "-m", "tests.broker.history.two_executors", str(project.root), OWN, shared],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(home), "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'validation'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return Found(folder, shared, json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.nightly("spark_cluster/test_standalone.py keeps a history that only the driver can write.")
def test_a_history_on_local_disks_is_refused_and_not_marked_complete(found: Found) -> None:
    own = found.answers[OWN]
    assert "do not write to the disk that the driver reads" in own["refused"]
    assert "--history none" in own["refused"]
    assert (own["notes"], own["states"]) == ([], ["t"])  # the driver writes and reads the states
    assert "1,000 rows were written" in own["keys"]
    assert "0 can be read back" in own["keys"]
    assert own["parts"] == 0
    assert list((found.folder / "history" / VERSION / FOLDER).rglob("_complete")) == []


@pytest.mark.nightly("spark_cluster/test_standalone.py keeps a history that only the driver can write.")
def test_a_shared_disk_is_used_for_the_history(found: Found) -> None:
    assert found.answers[found.shared] == {"refused": "", "notes": [], "states": ["t"], "keys": "", "parts": 1}
    assert list((found.folder / "shared").glob("v4/probe/*")) == []


class _Cut(HistoryStore):
    """A store whose files disappear between the write and the read-back, as on a disk that is cleared meanwhile."""

    def _rows(self, folder: str, name: str, schema: StructType) -> int:
        for file in Path(self.path(folder, name).removeprefix("file://")).glob("*.parquet"):
            file.unlink()
        return super()._rows(folder, name, schema)


def test_a_history_part_that_cannot_be_read_back_is_not_complete(spark: SparkSession, tmp_path: Path) -> None:
    store = _Cut(spark, str(tmp_path / "history"))
    with pytest.raises(HistoryUnavailable, match=r"10 rows were written to .*, and 0 can be read back"):
        store.write(FOLDER, "0000000000001-a", spark.range(10))
    assert store.parts(FOLDER) == []


def test_an_audit_refuses_before_it_scans(
    project: Project, servers: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(HistoryStore, "is_shared", lambda _: False)
    monkeypatch.setattr(run, "gather_despite_changes", lambda *_: pytest.fail("it was scanned"))
    with (
        auditing(project, "dev", options=AuditOptions(str(tmp_path / "history"))) as look,
        pytest.raises(Refusal) as refused,
    ):
        look(())
    assert "--history none" in str(refused.value)
