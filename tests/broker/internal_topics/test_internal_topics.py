"""Test the findings about consumer groups and the topics of Kafka, Connect and Streams, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import TopicPartition
from kafka.admin import NewPartitions, NewTopic
from kafka.structs import OffsetAndMetadata
from pyspark.sql import SparkSession

from tests.support import maven_jars
from tests.support.applications import connect, streams
from tests.support.applications.java_application import JavaApplication
from tests.support.projects import own_cache, project_of
from tests.support.reports import finding
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.toolchain import Toolchain

BROKER = {
    "log.cleaner.enable": "false",
    "log.cleaner.backoff.ms": "300",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
CLEANER_GRACE_S = 7.0
HOUR_MS = 3_600_000
NAME_ALONE = "nobody-counts-changelog"
NOT_CONNECTS = "billing-configs"
LAG = {
    "lag.lost": {},
    "lag.soon": {"retention.ms": "1000000"},
    "lag.ahead": {},
    "lag.deletions": {"cleanup.policy": "compact", "delete.retention.ms": "60000"},
    "lag.whole": {"cleanup.policy": "compact", "delete.retention.ms": "60000"},
}
DECLARED = ("word.lines", "file.lines")


@dataclass(frozen=True)
class Looks:
    """Four audits: everything healthy, everything broken, some time later, and broken consumer group offsets."""

    healthy: AuditReport
    broken: AuditReport
    later: AuditReport
    offsets: AuditReport


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("internal")) as folder:
        plain = "{partitions: 1, replication_factor: 1}"
        yield project_of(folder / "project", {f"{name}.yaml": plain for name in DECLARED})


@pytest.fixture(scope="module")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=1, overrides=BROKER):
        yield sandbox


@pytest.fixture(scope="module")
def looks(
    project: Project,
    sandbox: Sandbox,
    spark: SparkSession,
    tools: Toolchain,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Looks]:
    servers, home = sandbox.bootstrap_servers, tmp_path_factory.mktemp("applications")
    class_path = (tools.kafka_jars, maven_jars.provide("applications"))
    with auditing(project, "dev") as look:
        transact(servers, "word.lines", [])
        with (
            streams.counting(servers, JavaApplication(tools.java, class_path, home / "streams")),
            connect.reading_a_file(servers, JavaApplication(tools.java, class_path, home / "connect")),
        ):
            healthy = look(())
        spoil(servers)
        follow(servers)
        commit_again(servers, 30)
        with reading(servers, "lag.lost", "reader", 40):
            look(("lag.lost",))  # an audit that sees the records unread
            with connected(servers) as admin:
                admin.delete_records({TopicPartition("lag.lost", 0): 70})
            broken, since = look(()), time.monotonic()
        commit_again(servers, 10)
        time.sleep(max(0.0, CLEANER_GRACE_S - (time.monotonic() - since)))
        later = look(())
        set_topic(servers, "__consumer_offsets", {"cleanup.policy": "delete"})
        yield Looks(healthy, broken, later, look(("__*",)))


def spoil(servers: list[str]) -> None:
    """Apply typical wrong changes to internal topics."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in (NAME_ALONE, NOT_CONNECTS)])
        admin.create_partitions({connect.CONFIGS: NewPartitions(2)})
    for topic in (connect.OFFSETS, streams.CHANGELOG, streams.WINDOWED, "__transaction_state"):
        set_topic(servers, topic, {"cleanup.policy": "delete"})
    set_topic(servers, streams.REPARTITION, {"retention.ms": "1000"})
    set_topic(servers, "__consumer_offsets", {"segment.ms": "100"})
    with writing(servers) as writer:
        writer.send(NOT_CONNECTS, "customer-7", "{}")


def follow(servers: list[str]) -> None:
    """Create consumer groups that each lag in a different way."""
    now = int(time.time() * 1000)
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=settings) for name, settings in LAG.items()])
    with writing(servers) as writer:
        for number in range(100):
            writer.send("lag.lost", f"key-{number}", "x")
            writer.send("lag.soon", f"key-{number}", "x", timestamp=now - 950_000 if number < 50 else now)
            writer.send("lag.ahead", f"key-{number}", "x")
            writer.send("lag.whole", f"key-{number}", "x", timestamp=now - HOUR_MS)
    transact(servers, "lag.deletions", [now - HOUR_MS] * 20)
    for group, topic, offset in (
        ("asleep", "lag.lost", 50),
        ("slow", "lag.soon", 10),
        ("slow", "lag.deletions", 8),
        ("slow", "lag.whole", 8),
        ("lost", "lag.ahead", 125),
    ):
        commit(servers, group, topic, offset)


def commit(servers: list[str], group: str, topic: str, offset: int) -> None:
    with connected(servers) as admin:
        admin.alter_group_offsets(group, {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)})


def commit_again(servers: list[str], times: int) -> None:
    """Commit offsets of one group, each in its own segment."""
    for number in range(times):
        commit(servers, "again", "word.lines", number % 100)
        time.sleep(0.11)


def transact(servers: list[str], topic: str, stamps: list[int]) -> None:
    """Write records with these timestamps in one transaction.

    Without timestamps, only initialize the producer, so that the coordinator has no open transaction.
    """
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": "internal"})
    producer.init_transactions(30)
    if stamps:
        producer.begin_transaction()
        for number, stamp in enumerate(stamps):
            producer.produce(topic, b"x", f"key-{number}", timestamp=stamp)
        producer.commit_transaction(30)


@contextmanager
def reading(servers: list[str], topic: str, group: str, committed: int) -> Iterator[None]:
    """Run a member of ``group`` that has committed offset ``committed`` and reads no further while the block runs."""
    consumer = Consumer({"bootstrap.servers": ",".join(servers), "group.id": group, "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + 30
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(0.2)
        consumer.commit(offsets=[ConfluentPartition(topic, 0, committed)], asynchronous=False)
        yield
    finally:
        consumer.close()


CONNECTS = (connect.CONFIGS, connect.OFFSETS, connect.STATUS)
STREAMS = (streams.CHANGELOG, streams.REPARTITION, streams.WINDOWED)
KAFKAS = ("__consumer_offsets", "__transaction_state")
FAIL, SUSPECT, PASS, UNDECIDABLE = Verdict.FAIL, Verdict.SUSPECT, Verdict.PASS, Verdict.UNDECIDABLE


def test_internal_topics_as_created_by_connect_and_streams_pass(looks: Looks) -> None:
    names = [topic.name for topic in looks.healthy.topics]
    assert set(names) == {*CONNECTS, *STREAMS, *KAFKAS, streams.WORDS, connect.LINES}
    assert [one for one in looks.healthy.findings if one.verdict is not PASS] == []
    for topic in (*CONNECTS, *STREAMS, *KAFKAS):
        assert finding(looks.healthy, topic, "internal-policy").verdict is PASS


@pytest.mark.parametrize(
    ("topic", "how"),
    [
        *((topic, "its newest records, and a group of Connect workers") for topic in CONNECTS),
        *((topic, "group word-count, which commits as Kafka Streams does") for topic in STREAMS),
    ],
)
def test_internal_topics_need_no_declaration_and_have_a_reason(looks: Looks, topic: str, how: str) -> None:
    undeclared = finding(looks.healthy, topic, "topic-undeclared")
    assert undeclared.verdict is PASS
    assert how in undeclared.message


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (connect.OFFSETS, "cleanup.policy is delete"),
        (connect.CONFIGS, "has 2 partitions"),
        (streams.CHANGELOG, "cleanup.policy is delete"),
        (streams.REPARTITION, "retention.ms is 1,000"),
        ("__transaction_state", "cleanup.policy is delete"),
    ],
)
def test_losing_application_state_fails_if_the_application_has_stopped(looks: Looks, topic: str, message: str) -> None:
    for report in (looks.broken, looks.later):
        policy = finding(report, topic, "internal-policy")
        assert policy.verdict is FAIL
        assert policy.message.startswith(message)


def test_time_based_deletion_of_the_offsets_topic_fails(looks: Looks) -> None:
    assert finding(looks.offsets, "__consumer_offsets", "internal-policy").verdict is FAIL


def test_possibly_valid_internal_topics_are_undecidable(looks: Looks) -> None:
    for topic in (streams.WINDOWED, NAME_ALONE):
        assert finding(looks.broken, topic, "internal-policy").verdict is UNDECIDABLE
    assert "its name alone" in finding(looks.broken, NAME_ALONE, "topic-undeclared").message


def test_a_topic_named_like_those_of_connect_has_no_role(looks: Looks) -> None:
    assert finding(looks.broken, NOT_CONNECTS, "topic-undeclared").verdict is FAIL
    assert not [one for one in looks.broken.of_topic(NOT_CONNECTS) if one.check == "internal-policy"]


def test_committed_offsets_that_nobody_cleans_are_proven_once_records_follow_the_settings(looks: Looks) -> None:
    verdicts = [
        {one.verdict for one in report.of_topic("__consumer_offsets") if one.check == "compaction-ratio"}
        for report in (looks.healthy, looks.broken, looks.later)
    ]
    assert verdicts[:2] == [{PASS}, {PASS}]  # no record has followed the audit that first saw the settings
    assert FAIL in verdicts[2]


def lag(looks: Looks, topic: str) -> list[Finding]:
    return [one for one in looks.broken.of_topic(topic) if one.check == "group-lag"]


def test_records_that_an_audit_saw_unread_are_proven_to_be_lost_by_a_group(looks: Looks) -> None:
    reader, asleep = lag(looks, "lag.lost")
    assert (reader.verdict, reader.partitions) == (FAIL, [0])
    lost = {"offset": 40, "lost_partitions": 1, "lost_at_most": 30}
    assert reader.evidence == {"group": "reader", "members": 1, **lost}
    assert (asleep.verdict, asleep.evidence) == (UNDECIDABLE, {"groups": 1, "group": "asleep", "offsets": 20})
    assert "group asleep: 20 offsets in 1 partition" in asleep.because


def test_a_group_whose_members_are_gone_is_undecidable(looks: Looks) -> None:
    found = [one for one in looks.later.of_topic("lag.lost") if one.check == "group-lag"]
    assert [(one.verdict, one.evidence["offsets"]) for one in found] == [(UNDECIDABLE, 50)]


@pytest.mark.parametrize(
    ("topic", "verdict", "offsets", "output"),
    [
        ("lag.soon", SUSPECT, 40, "deleted soon"),
        ("lag.ahead", UNDECIDABLE, 25, "after the log end"),
        ("lag.deletions", UNDECIDABLE, 12, "may miss deletions among them"),
    ],
)
def test_records_that_a_group_will_lose_are_reported(
    looks: Looks, topic: str, verdict: Verdict, offsets: int, output: str
) -> None:
    (found,) = lag(looks, topic)
    assert (found.verdict, found.evidence["offsets"]) == (verdict, offsets)
    assert output in found.message


def test_a_slow_group_loses_nothing_if_no_record_was_removed(looks: Looks) -> None:
    assert [one.verdict for one in lag(looks, "lag.whole")] == [PASS]
    assert set(LAG) <= {topic.name for topic in looks.broken.topics}
