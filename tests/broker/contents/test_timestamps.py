"""Test batches that the cleaner emptied: they keep their timestamp and hide later records from ``ListOffsets``.

``ListOffsets`` by time reads only the first segment whose largest timestamp is late enough.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic

from tests.support.reports import facts, finding
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import log_cleaner
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction

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
    log_cleaner.speed_up(servers)
    for name in TOPICS:
        log_cleaner.wait_until_clean(sandbox, name)


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
