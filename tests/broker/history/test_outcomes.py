"""Test the trend: the results of earlier audits of the same topics."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support import reports
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.outcomes import MOST_AUDITS, trend, worst_verdicts
from topicwarden.audit.history.store import VERSION
from topicwarden.model.finding import AuditReport, Finding, PastAudit, SeenFinding
from topicwarden.model.verdict import Verdict


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
    seen = [SeenFinding(topic="t1", check="c", verdict=Verdict.FAIL, since=1)]
    first, second = (PastAudit(started=at, topics=one, seen=seen) for at in (1, 2))
    assert past == [[], [first], [first.model_copy(update={"seen": None}), second]]


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
    assert len(list(Path(history).glob("v3/outcomes/*/*/_complete"))) == 3


def test_a_history_part_deleted_by_another_audit_is_skipped(history: str, spark: SparkSession) -> None:
    trend(AuditHistory(spark, history), ended(1), ())
    trend(AuditHistory(spark, history), ended(2), ())
    (file,) = Path(history).glob("v3/outcomes/*/*2-*/part.json")
    file.unlink()
    audit = AuditHistory(spark, history)
    assert [past.started for past in trend(audit, ended(3), ())] == [1]
    assert audit.notes == []


def test_without_a_history_there_is_no_trend(spark: SparkSession, history: str) -> None:
    assert trend(AuditHistory(spark, None), ended(1), ()) == []
    trend(AuditHistory(spark, history), ended(1), ())
    (file,) = Path(history).glob("v3/outcomes/*/*/part.json")
    file.write_bytes(b"no JSON")
    for checksum in file.parent.glob(".*.crc"):
        checksum.unlink()
    broken = AuditHistory(spark, history)
    assert trend(broken, ended(2), ()) == []
    assert "there is no trend" in broken.notes[0]
