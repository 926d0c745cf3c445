"""Test that an audit of new records reports the same as a full audit, and reads only new records."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import TopicPartition
from kafka.admin import NewTopic

from tests.support.documents import block
from tests.support.reports import comparable, counted, facts
from topicwarden.audit import gather
from topicwarden.audit.collect.horizon import TopicPartition as PartitionId
from topicwarden.audit.history import key_store, offset_blocks
from topicwarden.audit.scan import offset_ranges
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.audit.scan.superseded_pairs import superseded_pairs
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import Writer, writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

# Test that ``--since last`` reports the same as a full audit, and reads only new records.

Audit = Callable[[ReadScope], AuditReport]
_Pairs = dict[PartitionId, tuple[SupersededPair, ...]]
COMPACTED, EVENTS = "l.compacted", "l.events"
RECORDS, MORE = 30_000, 300
KEYS = 12_000


@pytest.fixture
def audit(project: Project, servers: list[str], history: str) -> Audit:
    """Return a function that audits ``l.*`` on two new topics. The compacted topic is too young to be cleaned."""
    with connected(servers) as admin:
        admin.delete_topics([name for name in (COMPACTED, EVENTS) if name in admin.list_topics()])
        time.sleep(1)
        admin.create_topics(
            [
                NewTopic(COMPACTED, 2, 1, topic_configs={"cleanup.policy": "compact"}),
                NewTopic(EVENTS, 2, 1, topic_configs={"cleanup.policy": "delete"}),
            ]
        )
    with writing(servers) as writer:
        fill(writer, 0, RECORDS)

    def look(since: ReadScope) -> AuditReport:
        with auditing(project, "dev", options=AuditOptions(history, since)) as audited:
            return audited(("l.*",))

    return look


def fill(writer: Writer, first: int, records: int) -> None:
    """Write repeated keys with some tombstones to one topic, and events with and without keys to the other."""
    for number in range(first, first + records):
        writer.send(COMPACTED, f"key-{number % KEYS}", None if number % 97 == 0 else f"value {number}")
        writer.send(EVENTS, None if number % 7 == 0 else f"key-{number}", f"value {number}")


@pytest.mark.nightly("The suite keeps the audits in pieces, which include the one at once.", stays=("in-pieces",))
@pytest.mark.parametrize("small", [False, True], ids=["at-once", "in-pieces"])
def test_an_incremental_audit_has_the_findings_of_a_full_one(
    audit: Audit, servers: list[str], monkeypatch: pytest.MonkeyPatch, small: bool
) -> None:
    if small:  # several tasks read each partition, and keys are looked up in several batches
        monkeypatch.setattr(offset_ranges, "MOST_OFFSETS", 6_000)
        monkeypatch.setattr(offset_ranges, "_MOST_SHARES", 0.3)
        monkeypatch.setattr(key_store, "MOST_LOOKED_UP", 10_000)
    monkeypatch.setattr(
        offset_blocks, "MOST_PARTS", 2
    )  # the second round merges some stored parts, the last round merges all
    first = audit(ReadScope.LAST)
    assert first.scanned_records == 2 * RECORDS
    assert any("read in full" in note for note in first.notes)
    written = RECORDS
    for more in (MORE, MORE, RECORDS, MORE):
        with writing(servers) as writer:
            fill(writer, written, more)
        written += more
        new, every = audit(ReadScope.LAST), audit(ReadScope.ALL)
        assert new.notes == []
        assert new.scanned_records == 2 * more
        assert new.scanned_records + new.remembered_records == every.scanned_records
        assert comparable(new) == comparable(every)
        for topic in (COMPACTED, EVENTS):
            assert counted(facts(new, topic)) == counted(facts(every, topic))
            assert facts(new, topic).ages == facts(every, topic).ages


def test_pairs_among_known_records_are_searched_once(
    audit: Audit, servers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[OffsetRange] = []

    def search(spark: SparkSource, connection: Connection, windows: list[OffsetRange]) -> _Pairs:
        searched.extend(windows)
        return superseded_pairs(spark, connection, windows)

    audit(ReadScope.LAST)
    monkeypatch.setattr(gather, "superseded_pairs", search)
    with writing(servers) as writer:
        fill(writer, RECORDS, MORE)
    new = audit(ReadScope.LAST)
    assert searched == []
    assert comparable(new) == comparable(audit(ReadScope.ALL))
    assert {(window.topic, window.partition) for window in searched} == {(COMPACTED, 0), (COMPACTED, 1)}


def test_records_deleted_since_the_last_audit_do_not_count(audit: Audit, servers: list[str]) -> None:
    audit(ReadScope.LAST)
    with connected(servers) as admin:
        admin.delete_records({TopicPartition(EVENTS, 0): 9_000, TopicPartition(EVENTS, 1): 3})
    for _ in range(2):  # the second round reads a log that starts inside an offset block
        with writing(servers) as writer:
            fill(writer, RECORDS, MORE)
        new, every = audit(ReadScope.LAST), audit(ReadScope.ALL)
        assert new.notes == []
        assert new.scanned_records < 3 * 8_192
        assert counted(facts(new, EVENTS)) == counted(facts(every, EVENTS))
        assert comparable(new) == comparable(every)


LOST = "p.lost"


def test_records_that_a_broker_lost_do_not_count_although_others_have_their_offsets(
    project: Project, sandbox: Sandbox, servers: list[str], history: str
) -> None:
    """The broker loses the end of its log with the power, and comes back with a later leader epoch."""

    def audited(since: ReadScope) -> AuditReport:
        with auditing(project, "dev", options=AuditOptions(history, since)) as audited_topics:
            return audited_topics((LOST,))

    def send(numbers: range) -> None:
        with writing(servers) as writer:
            for number in numbers:
                writer.send(LOST, f"key-{number}", "value" * (1 + number % 9))

    with connected(servers) as admin:
        admin.create_topics([NewTopic(LOST, 1, 1)])
    for numbers in (range(50), range(50, 100)):  # a batch each
        send(numbers)
    audited(ReadScope.LAST)
    broker = sandbox.status().brokers[0].id
    sandbox.kill(broker)
    (log,) = project.root.parent.rglob(f"{LOST}-0/{0:020}.log")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 1)
    sandbox.start(broker)
    send(range(100, 180))
    new, every = audited(ReadScope.LAST), audited(ReadScope.ALL)
    assert facts(every, LOST).records == 130
    assert comparable(new) == comparable(every)
    assert counted(facts(new, LOST)) == counted(facts(every, LOST))
    assert new.notes == ["1 partition read in full: the leader changed, and the log may have been truncated"]
    sandbox.kill(broker)
    sandbox.start(broker)
    send(range(180, 190))
    after = audited(ReadScope.LAST)
    assert (after.notes, after.scanned_records) == ([], 10)


# Test that the audit task of the page on Python audits a real cluster, and only what is new the second time.


def test_the_audit_task_of_the_page_returns_the_verdicts_and_writes_the_report(
    project: Project, servers: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    audit_records = block("kafka_tasks").audit_records
    capfd.readouterr()
    counts = [audit_records(str(project.root), "dev", str(tmp_path / name)) for name in ("first", "second")]
    assert capfd.readouterr() == ("", "")
    reports = [
        AuditReport.model_validate_json((tmp_path / name / "report.json").read_bytes()) for name in ("first", "second")
    ]
    assert counts == [{verdict.value: number for verdict, number in each.counts().items()} for each in reports]
    assert all(each.counts()[Verdict.FAIL] for each in reports), "the declared topic does not exist"
    assert {each.read for each in reports} == {ReadScope.LAST}
