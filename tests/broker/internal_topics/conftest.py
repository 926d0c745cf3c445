"""Fixtures: a broker without a running cleaner, a real Connect worker, a real Streams application, and four audits."""

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
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.write.config_admin import connected, set_topic
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.operations.audit import auditing
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing
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


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("internal")) as folder:
        plain = "{partitions: 1, replication_factor: 1}"
        yield project_of(folder / "project", {f"{name}.yaml": plain for name in DECLARED})


@pytest.fixture(scope="package")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=1, overrides=BROKER):
        yield sandbox


@pytest.fixture(scope="package")
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
