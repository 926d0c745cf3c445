"""Test that a later audit confirms or clears the suspects of an earlier audit.

The tests use a real broker with the cleaner first off and then on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from kafka import TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

from tests.broker.history.conftest import REPAIRED
from tests.support.reports import facts, finding
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.compaction import wait_until_clean
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport, SettledFinding
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

# Test that a later audit confirms or clears the suspects of an earlier audit.

QUICK = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
LAGGING = {"segment.ms": "100", "max.compaction.lag.ms": "500", "min.cleanable.dirty.ratio": "0.99"}
TOPICS = {
    "h.ratio": {"cleanup.policy": "compact", **QUICK},
    "h.lag": {"cleanup.policy": "compact", **LAGGING},
    "h.cut": {"cleanup.policy": "compact,delete", "retention.ms": "-1", **LAGGING},
    "h.time": {"cleanup.policy": "compact,delete", "retention.ms": "1000", **QUICK},
    "h.size": {
        "cleanup.policy": "compact,delete",
        "retention.bytes": "1000",
        "segment.bytes": "1048576",
        "compression.type": "uncompressed",
    },
    "h.open": {"cleanup.policy": "delete"},
    "h.again": {"cleanup.policy": "delete"},
}
GRACE_S = 22.0
"""Longer than a working cleaner, ``transaction.max.timeout.ms`` and a check by the coordinator take in this setup."""


@dataclass(frozen=True)
class Looks:
    """Four audits: of empty topics, of filled topics, some time later, and after the cleaner is on again."""

    empty: AuditReport
    full: AuditReport
    later: AuditReport
    repaired: AuditReport


def create(servers: list[str], name: str) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=TOPICS[name])])


def repeat(servers: list[str], topic: str, times: int) -> None:
    """Write records of one key, each in its own segment, and a record of another key that rolls the last segment."""
    with writing(servers) as writer:
        for number in range(times):
            writer.send(topic, "key", f"{number} {'x' * 200}")
            writer.flush()
            time.sleep(0.13)
        time.sleep(1.0)
        writer.send(topic, "other", "rolls")


@contextmanager
def transaction(servers: list[str], topic: str) -> Iterator[None]:
    """Keep a transaction open: its coordinator loses the topic in which it remembers transactions."""
    producer = Producer(
        {
            "bootstrap.servers": ",".join(servers),
            "transactional.id": "history",
            "transaction.timeout.ms": 1000,
            "message.timeout.ms": 1000,
        }
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"value", b"key")
    producer.flush(10)
    with connected(servers) as admin:
        admin.delete_topics(["__transaction_state"])
    yield


@pytest.fixture(scope="module")
def looks(
    project: Project, sandbox: Sandbox, servers: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Looks]:
    for name in TOPICS:
        create(servers, name)
    options = AuditOptions(history=str(tmp_path_factory.mktemp("looks")))
    with auditing(project, "dev", options=options) as look:
        empty = look(("h.*",))
        for topic in ("h.ratio", "h.lag", "h.cut", "h.time"):
            repeat(servers, topic, 12)
        with writing(servers) as writer:
            for number in range(3_000):
                writer.send("h.size", f"key-{number}", "x" * 1_000)
            writer.send("h.again", "a", "1")
        with transaction(servers, "h.open"):
            time.sleep(8)  # records are now due for cleaning or deletion
            full, since = look(("h.*",)), time.monotonic()
            with connected(servers) as admin:
                admin.delete_topics(["h.again"])
                admin.delete_records({TopicPartition("h.cut", 0): 12})
            create_again(servers)
            time.sleep(max(0.0, GRACE_S - (time.monotonic() - since)))
            later = look(("h.*",))
    sandbox.stop(1)
    sandbox.up(brokers=1, overrides=REPAIRED)
    for topic in ("h.ratio", "h.lag"):
        wait_until_clean(sandbox, topic)
    with auditing(project, "dev", options=options) as look:
        yield Looks(empty, full, later, look(("h.*",)))


def create_again(servers: list[str]) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            create(servers, "h.again")
            return
        except TopicAlreadyExistsError:  # the topic is still being deleted
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)


def verdict(report: AuditReport, topic: str, check: str) -> Verdict:
    return finding(report, topic, check).verdict


def settled(report: AuditReport, topic: str, check: str) -> SettledFinding:
    (found,) = (one for one in report.settled if (one.topic, one.check) == (topic, check))
    return found


STUCK = [
    ("h.ratio", "compaction-ratio"),
    ("h.lag", "compaction-lag"),
    ("h.time", "retention-time"),
    ("h.size", "retention-size"),
]


@pytest.mark.parametrize(("topic", "check"), STUCK, ids=[check for _, check in STUCK])
def test_a_suspect_that_persists_is_proven_and_settled_after_the_cleaner_restarts(
    looks: Looks, topic: str, check: str
) -> None:
    assert [verdict(one, topic, check) for one in (looks.empty, looks.full, looks.later, looks.repaired)] == [
        Verdict.PASS,
        Verdict.SUSPECT,
        Verdict.FAIL,
        Verdict.PASS,
    ]
    later, repaired = settled(looks.later, topic, check), settled(looks.repaired, topic, check)
    assert (later.was, later.now, later.why) == (Verdict.SUSPECT, Verdict.FAIL, "still present")
    assert (repaired.was, repaired.now) == (Verdict.FAIL, Verdict.PASS)
    assert repaired.why.startswith(("the pair at offsets 0 and 1 was cleaned", "the log now starts at offset "))


def test_an_empty_topic_has_no_suspect(looks: Looks) -> None:
    unsettled = (Verdict.SUSPECT, Verdict.UNDECIDABLE)
    assert [one for one in looks.empty.findings if one.verdict in unsettled] == []
    assert looks.empty.settled == looks.full.settled == []


def test_a_suspect_whose_records_were_deleted_is_settled_with_the_new_log_start(looks: Looks) -> None:
    assert verdict(looks.full, "h.cut", "compaction-lag") is Verdict.SUSPECT
    assert verdict(looks.later, "h.cut", "compaction-lag") is Verdict.PASS
    assert settled(looks.later, "h.cut", "compaction-lag").why.startswith("the log now starts at offset 12")
    assert verdict(looks.later, "h.cut", "log-truncated") is Verdict.PASS


def test_an_abandoned_transaction_is_hung_after_the_maximum_timeout(looks: Looks) -> None:
    assert verdict(looks.full, "h.open", "hung-transaction") is Verdict.PASS
    hung = finding(looks.later, "h.open", "hung-transaction")
    assert hung.verdict is Verdict.FAIL
    assert hung.evidence["last_stable"] == 0
    assert hung.evidence["transaction.max.timeout.ms"] == 1000


def test_a_topic_that_was_recreated_has_no_previous_audit(looks: Looks) -> None:
    again = finding(looks.later, "h.again", "topic-recreated")
    assert again.verdict is Verdict.FAIL
    assert again.evidence["id"] != again.evidence["id_before"]
    assert not [one for one in looks.later.findings if (one.topic, one.check) == ("h.again", "log-truncated")]
    assert verdict(looks.repaired, "h.again", "topic-recreated") is Verdict.PASS


# Test that records without a timestamp have no age: Kafka takes the time of the last write to their segment.

UNDATED = -1
HOUR_MS = 3_600_000
SETTINGS = {"retention.ms": str(HOUR_MS), "segment.ms": "500"}


UNDATED_CASES = {
    f"h.undated.{policy.replace(',', '.')}.{name}": (policy, also)
    for policy in ("delete", "compact,delete")
    for name, also in {"alone": None, "with-old": -2 * HOUR_MS, "with-future": 2 * HOUR_MS}.items()
}
"""By topic: its policy, and how far from now the time of its only dated record is; None if there is no such record."""


def test_young_records_without_a_timestamp_do_not_count_as_old(
    project: Project, servers: list[str], history: str
) -> None:
    after = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    with connected(servers) as admin:
        admin.create_topics(
            [
                NewTopic(topic, 1, 1, topic_configs={**SETTINGS, **after, "cleanup.policy": policy})
                for topic, (policy, _) in UNDATED_CASES.items()
            ]
        )
    with writing(servers) as writer:
        for number in range(12):
            for topic, (_, also) in UNDATED_CASES.items():
                writer.send(topic, f"key-{number % 5}", "value", timestamp=UNDATED)
                if also is not None and number == 6:
                    writer.send(topic, "dated", "value", timestamp=int(time.time() * 1000) + also)
            writer.flush()
    for since in (ReadScope.ALL, ReadScope.LAST, ReadScope.LAST):
        with auditing(project, "dev", options=AuditOptions(history, since)) as audited:
            report = audited(("h.undated.*",))
        for topic, (policy, also) in UNDATED_CASES.items():
            bad = {found.check for found in report.of_topic(topic) if found.verdict in (Verdict.FAIL, Verdict.SUSPECT)}
            assert bad == {"topic-undeclared"}, topic
            if also is None:
                (partition,) = facts(report, topic).partitions
                # If writing is slow, the cleaner removes superseded records of closed segments.
                assert partition.records in (range(5, 13) if policy == "compact,delete" else (12,)), topic
                assert (partition.first_timestamp, partition.last_timestamp) == (None, None)
                assert facts(report, topic).ages == []
