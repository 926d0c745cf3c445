"""Test what an audit does without Spark: look up remembered records, and report topics without new records."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.projects import project_of
from tests.support.reports import comparable, counted, facts, finding
from topicwarden.audit.history import remembered_records
from topicwarden.audit.scan import spark_session as sessions
from topicwarden.audit.scan.key_hash import key_hash
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.record_decoder import UnreadableRecords
from topicwarden.kafka.write.access_admin import alter_quotas, wait_for_quotas
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.finding import OF_CLUSTER, AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

LOOKED_UP = ("s.lookup", 0)
TRANSACTIONS = "s.transactions"
IDLE = ("s.compacted", "s.events")
SCATTERED, MISPLACED = "s.scattered", "s.misplaced"
"""Topics with keys in two partitions: one has keys in both, and one declares a partitioner that puts them elsewhere."""
QUOTA: Mapping[QuotaEntity, Mapping[str, float]] = {(("user", "reports"),): {"producer_byte_rate": 5000.0}}


@pytest.fixture(scope="module")
def filled(servers: list[str]) -> Iterator[list[str]]:
    policies = {LOOKED_UP[0]: "delete", "s.compacted": "compact", "s.events": "delete", TRANSACTIONS: "delete"}
    by_key = {SCATTERED: "compact", MISPLACED: "delete"}
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1, {}, {"cleanup.policy": kind}) for name, kind in policies.items()])
        admin.create_topics([NewTopic(name, 2, 1, {}, {"cleanup.policy": kind}) for name, kind in by_key.items()])
    written = int(time.time() * 1000) - 9_000
    with writing(servers) as writer:
        for number in range(600):
            large = number in (150, 151, 400)
            value = os.urandom(300_000) if large else f"value {number}"
            writer.send(LOOKED_UP[0], None if number == 30 else f"key-{number}", value)
            if number % 50 == 0 or large:
                writer.flush()
            for topic in IDLE:
                writer.send(topic, f"key-{number % 40}", None if number % 13 == 0 else "v", written)
        for number in range(60):
            for topic in by_key:
                key = f"key-{number % 40 if topic == SCATTERED else number}"
                writer.send(topic, key, "v", written, number // 40 if topic == SCATTERED else number % 2)
        for number in range(5):
            writer.send(TRANSACTIONS, "key", f"no JSON {number}", written)
    settings = {"transactional.id": "without-spark", "transaction.timeout.ms": 1_000}
    producer = Producer({"bootstrap.servers": ",".join(servers), **settings})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(TRANSACTIONS, "aborted", "key", timestamp=written)
    producer.flush()
    with suppress(KafkaException):  # the broker has aborted the transaction after its timeout
        producer.abort_transaction(20)
    with connected(servers) as admin:
        admin.delete_records({TopicPartition(*LOOKED_UP): 20})
    yield servers
    with connected(servers) as admin:
        admin.delete_topics([*policies, *by_key])


def test_the_driver_finds_the_records_that_spark_finds(
    filled: list[str], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection(tuple(filled), tls=False)
    offsets = [5, 20, 30, 31, 149, 150, 151, 152, 400, 599, 600, 5_000]
    records = [(offset, key_hash(f"key-{offset}".encode())) for offset in offsets] + [(40, 1)]
    lookups = {LOOKED_UP: records, ("s.events", 0): []}
    here = remembered_records._find(lambda: pytest.fail("Spark was started"), connection, lookups)
    assert sorted(offset for _, offset, _ in here) == [20, 31, 149, 150, 151, 152, 400, 599]
    monkeypatch.setattr(remembered_records, "MOST_FETCHED", 0)
    inside = {LOOKED_UP: [each for each in records if 20 <= each[0] < 600]}  # Spark reads no offset beyond the log
    assert remembered_records._find(lambda: spark, connection, inside) == here


def test_spark_reads_what_the_driver_cannot(
    filled: list[str], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise UnreadableRecords

    monkeypatch.setattr("topicwarden.kafka.read.cluster.read_keys", unreadable)
    lookups = {LOOKED_UP: [(150, key_hash(b"key-150"))]}
    found = remembered_records._find(lambda: spark, Connection(tuple(filled), tls=False), lookups)
    assert found == {(LOOKED_UP, 150, key_hash(b"key-150"))}


@pytest.fixture
def declaring(filled: list[str], tmp_path: Path) -> Project:
    """Return a project that declares contents which the topic with transactions does not have, and a quota."""
    scope = f"'topicwarden:scope': {{topics: [{', '.join((*IDLE, TRANSACTIONS, SCATTERED, MISPLACED))}]}}"
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(filled)}], 'kafka:tlsEnabled': false, {scope}}}\n"
    declared = "{partitions: 1, replication_factor: 1, contents: {value: {format: json}}}"
    by_key = "{partitions: 2, replication_factor: 1, contents: {key: {partitioner: murmur2}}}"
    files = {f"{TRANSACTIONS}.yaml": declared, f"{MISPLACED}.yaml": by_key}
    project = project_of(tmp_path / "project", files, settings)
    (project.root / "access").mkdir()
    (project.root / "access" / "quotas.yaml").write_text("quotas: [{user: reports, producer_byte_rate: 5000}]\n")
    return project


def report(project: Project, history: str, since: ReadScope) -> AuditReport:
    with auditing(project, "dev", options=AuditOptions(history, since), first=()) as audited:
        return audited(())


def test_an_audit_without_new_records_starts_no_spark(
    declaring: Project, history: str, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report(declaring, history, ReadScope.LAST)
    every = report(declaring, history, ReadScope.ALL)
    assert "5 records" in finding(every, TRANSACTIONS, "value-schema").message  # not the aborted ones
    assert finding(every, SCATTERED, "key-in-several-partitions").verdict is Verdict.FAIL
    assert finding(every, MISPLACED, "key-partition").verdict is Verdict.FAIL
    parts = list(Path(history).glob("v4/keys/*"))
    with monkeypatch.context() as patched:
        patched.setattr(sessions, "spark_session", lambda *_, **__: pytest.fail("Spark was started"))
        for _ in range(2):
            new = report(declaring, history, ReadScope.LAST)
            assert new.notes == []
            assert new.scanned_records == 0
            assert new.remembered_records == every.scanned_records
            assert comparable(new) == comparable(every)
            for topic in IDLE:
                assert counted(facts(new, topic)) == counted(facts(every, topic))
                assert facts(new, topic).ages == facts(every, topic).ages
        assert finding(new, OF_CLUSTER, "quota-drift").verdict is Verdict.FAIL
        with connected(filled) as admin:
            assert (alter_quotas(admin, QUOTA), wait_for_quotas(admin, QUOTA)) == ({}, frozenset())
        limited = report(declaring, history, ReadScope.LAST)
    assert finding(limited, OF_CLUSTER, "quota-drift").verdict is Verdict.PASS
    assert [(each.topic, each.check) for each in limited.resolved] == [(OF_CLUSTER, "quota-drift")]
    assert list(Path(history).glob("v4/keys/*")) == parts
    for blocks in Path(history).glob("v4/keys/*/blocks.json.gz"):
        blocks.write_bytes(b"damaged")
    again = report(declaring, history, ReadScope.LAST)
    assert any("cannot be used for --since last: all records were read" in note for note in again.notes)
    assert comparable(again) == comparable(limited)
