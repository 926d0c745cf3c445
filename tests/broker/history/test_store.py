"""Test the history on disk: additions by audits, leftovers of a killed audit, and unreadable files."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.broker.history.conftest import NOW, look
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.store import KEPT_PARTS, VERSION

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
    (part,) = Path(history).glob(f"{VERSION}/looks/*")
    (part / "_complete").unlink()
    after = AuditHistory(spark, history)
    assert after.last_states("c") == {}
    assert after.notes == []


def test_an_unreadable_history_is_reported_and_the_audit_continues(spark: SparkSession, history: str) -> None:
    AuditHistory(spark, history).save([look()], NOW)
    (file,) = Path(history).glob(f"{VERSION}/looks/*/*.parquet")
    file.write_bytes(b"no parquet")
    for checksum in file.parent.glob(".*.crc"):
        checksum.unlink()
    broken = AuditHistory(spark, history)
    assert broken.last_states("c") == {}
    assert "cannot be read, and is ignored" in broken.notes[0]


def test_a_history_of_another_version_is_reported_and_not_changed(spark: SparkSession, history: str) -> None:
    newer = Path(history) / "v9" / "looks"
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
    assert len(list(Path(history).glob(f"{VERSION}/looks/*"))) == KEPT_PARTS + 1
    assert set(AuditHistory(spark, history).last_states("c")) == {"t", "rare"}
    AuditHistory(spark, history).save([look(at=NOW + 100 * DAY)], NOW + 100 * DAY)
    assert set(AuditHistory(spark, history).last_states("c")) == {"t"}
