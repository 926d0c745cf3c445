"""Test on a real broker which records have arrived, and which fields look personal."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.broker.contents.transactions import transactional
from tests.support.reports import comparable, finding
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

SILENT, COUNTED = "arrival.silent", "arrival.counted"
DAY_MS = 86_400_000
EMAIL = "marked.person@example.org"
DEADLINE_S = 120


@pytest.fixture(scope="module")
def created(servers: list[str]) -> None:
    with connected(servers) as admin:
        stamped = {"message.timestamp.type": "LogAppendTime"}
        any_time = {"message.timestamp.before.max.ms": str(2**63 - 1)}
        admin.create_topics([NewTopic(SILENT, 1, 1, topic_configs=stamped)])
        admin.create_topics([NewTopic(COUNTED, 1, 1, topic_configs=any_time)])


def audited(project: Project, history: str = "none", since: ReadScope = ReadScope.ALL) -> AuditReport:
    with auditing(project, "dev", options=AuditOptions(history, since)) as look:
        return look((SILENT, COUNTED))


def send(producer: Producer, records: int, days_ago: int) -> None:
    stamp = int(time.time() * 1000) - days_ago * DAY_MS
    value = json.dumps({"email": EMAIL, "buyer": {"contact": EMAIL}, EMAIL: {"phone": "1"}})
    for _ in range(records):
        producer.produce(COUNTED, value, timestamp=stamp)


def test_arrivals_are_judged_by_committed_records(
    created: None, servers: list[str], project: Project, spark: SparkSession, tmp_path: Path
) -> None:
    producer = transactional(servers, "arrival")  # has begun a transaction
    send(producer, 5, 3)
    producer.commit_transaction()
    producer.begin_transaction()
    send(producer, 5, 3)
    producer.abort_transaction()
    plain = Producer({"bootstrap.servers": ",".join(servers)})
    plain.produce(SILENT, b"x")
    assert plain.flush(30) == 0
    history = str(tmp_path / "history")
    first = audited(project, history, ReadScope.LAST)
    assert finding(first, COUNTED, "arrival-count").verdict is Verdict.PASS
    assert finding(first, SILENT, "arrival-silence").verdict is Verdict.PASS

    producer.begin_transaction()
    send(producer, 1, 3)
    producer.commit_transaction()
    deadline = time.monotonic() + DEADLINE_S
    while True:
        new = audited(project, history, ReadScope.LAST)
        if finding(new, SILENT, "arrival-silence").verdict is Verdict.FAIL:
            break
        assert time.monotonic() < deadline
    assert new.notes == []
    many = finding(new, COUNTED, "arrival-count")
    assert (many.verdict, many.evidence["records"], many.evidence["periods"]) == (Verdict.FAIL, 6, 1)
    assert "declared at most 5, in Europe/Berlin" in many.because

    full = audited(project, history)
    checks = ("arrival-count", "personal-fields")
    assert [one for one in comparable(full) if one[1] in checks] == [one for one in comparable(new) if one[1] in checks]
    assert finding(full, SILENT, "arrival-silence").verdict is Verdict.FAIL


def test_no_output_has_personal_data(created: None, servers: list[str], project: Project, spark: SparkSession) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    send(producer, 1, 1)
    assert producer.flush(30) == 0
    report = audited(project)
    found = finding(report, COUNTED, "personal-fields")
    assert found.verdict is Verdict.PASS
    assert "2 undeclared fields look like personal data: *.phone (name of the field" in found.message
    assert "buyer.contact (e-mail address" in found.message
    assert " email (" not in found.message
    assert EMAIL not in report.model_dump_json()
