"""Test batches that the cleaner emptied, and the expected arrival of records.

``ListOffsets`` by time reads only the first segment whose largest timestamp is late enough.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.broker.contents.transactions import transactional
from tests.support.reports import comparable, facts, finding
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import compaction
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.operations.operation_options import AuditOptions

DAY_MS = 86_400_000
YEAR_MS = 365 * DAY_MS
TOPICS = {"stamps.below": -DAY_MS, "stamps.above": DAY_MS}
"""By topic, how many milliseconds the timestamp of the emptied batch is later than the future record's."""

CONFIG = {
    "cleanup.policy": "compact,delete",
    "retention.ms": "3600000",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.01",
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
FUTURE_OFFSET = 6
EXPIRED_BEHIND = 5


def fill(servers: Sequence[str], topic: str, future: int, later: int, past: int) -> None:
    settings = {"bootstrap.servers": ",".join(servers), "enable.idempotence": True, "linger.ms": 0}
    first, others = Producer(settings), Producer(settings)

    def send(producer: Producer, key: str, stamp: int, size: int = 1) -> None:
        producer.produce(topic, b"x" * size, key, timestamp=stamp)
        assert producer.flush(30) == 0

    send(first, "again", future + later)  # 0: this producer's only batch, so the cleaner keeps the emptied batch
    for number in range(4):  # 1 to 4; the third rolls the segment
        send(others, f"large-{number}", past, 400_000)
    send(others, "again", past)  # 5
    send(others, "future", future)  # 6
    for number in range(2):  # 7 and 8: after the future record
        send(others, f"expired-{number}", past)
    for number in range(3):  # 9 to 11; the first and the last roll the segment
        send(others, f"last-{number}", past, 600_000)


@pytest.fixture(scope="module")
def now() -> int:
    return int(time.time() * 1000)


@pytest.fixture(scope="module")
def emptied(sandbox: Sandbox, servers: list[str], now: int) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=CONFIG) for name in TOPICS])
        for name, later in TOPICS.items():
            fill(servers, name, now + YEAR_MS, later, now - 2 * DAY_MS)
    compaction.speed_up(servers)
    for name in TOPICS:
        compaction.wait_until_clean(sandbox, name)


@pytest.fixture(scope="module")
def stamps(emptied: None, look: AuditFunction) -> AuditReport:
    return look(("stamps.*",))


@pytest.mark.parametrize("topic", TOPICS)
def test_the_broker_reports_no_record_in_the_future(emptied: None, servers: list[str], now: int, topic: str) -> None:
    with connected(servers) as admin:
        assert first_at(admin, topic, now + DAY_MS) == -1, "what this test is about"


@pytest.mark.parametrize("topic", TOPICS)
def test_the_first_record_in_the_future_is_reported(stamps: AuditReport, now: int, topic: str) -> None:
    (partition,) = facts(stamps, topic).partitions
    assert (partition.future_offset, partition.future_timestamp) == (FUTURE_OFFSET, now + YEAR_MS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_blocked_segment_is_reported(stamps: AuditReport, topic: str) -> None:
    found = finding(stamps, topic, "retention-blocked")
    assert found.verdict is Verdict.FAIL
    assert (found.evidence["blocking_offset"], found.evidence["expired_behind"]) == (FUTURE_OFFSET, EXPIRED_BEHIND)
    assert finding(stamps, topic, "retention-time").verdict is Verdict.PASS


def first_at(admin: KafkaAdminClient, topic: str, timestamp: int) -> int:
    topic_partition = TopicPartition(topic, 0)
    return int(admin.list_partition_offsets({topic_partition: timestamp})[topic_partition].offset)


SILENT, COUNTED = "arrival.silent", "arrival.counted"
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
