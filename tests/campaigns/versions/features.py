"""The new features of Kafka since 3.9, and how topicwarden treats them. Each feature names the first line that has
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Producer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.campaigns.versions.parts import Stage
from tests.conftest import REPOSITORY
from tests.engine.predictions.conftest import one
from tests.support import maven_jars
from tests.support.applications import streams
from tests.support.applications.java_application import JavaApplication
from tests.support.applications.share_consumer import share_consumer
from tests.support.clients import until
from tests.support.reports import finding
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka_facts.configs import kafka_lines
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.toolchain import toolchain

RECORDS: Final = 10
_LAST_BROKER: Final = 3


class Feature(NamedTuple):
    """A feature of Kafka: the first line that has it, and a function that tests it on a cluster."""

    since: str
    test: Callable[[Stage], None]

    def in_line(self, line: str) -> bool:
        return kafka_lines().index(line) >= kafka_lines().index(self.since)


def consumer_protocol(stage: Stage) -> None:
    """A group of the new consumer protocol (KIP-848) is seen with its member, its offsets and its partitions."""
    _topic(stage, "next.v1", RECORDS)
    settings = {"group.id": "next", "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    with _consuming(stage, "next.v1", settings):
        group = _groups(stage, "next.v1")["next"]
        assert (group.state, group.members) == ("Stable", 1), group
        assert group.assigned == {("next.v1", 0)}, group
        assert group.offsets == {("next.v1", 0): RECORDS}, group
        assert finding(_audit(stage, "next.v1"), "next.v1", "group-lag").verdict is Verdict.PASS


def transactions(stage: Stage) -> None:
    """Transactions of version 2 (KIP-890) that ended are no hung transactions, and aborted records are not judged."""
    _topic(stage, "bank.v1")
    producer = Producer({"bootstrap.servers": ",".join(stage.servers), "transactional.id": "bank"})
    producer.init_transactions(30)
    for number in range(RECORDS):
        producer.begin_transaction()
        producer.produce("bank.v1", b"x", b"k")
        producer.abort_transaction(30) if number % 2 else producer.commit_transaction(30)
    report = _audit(stage, "bank.v1", "__transaction_state")
    assert _failed(report) == []
    (facts,) = (topic for topic in report.topics if topic.name == "bank.v1")
    assert facts.partitions[0].records == RECORDS / 2, facts


def eligible_leaders(stage: Stage) -> None:
    """A replica that leaves the in-sync replicas below the minimum is eligible, until the minimum changes (KIP-966)."""
    assert stage.cluster.sandbox
    declared = "{{owner: team, partitions: 1, replication_factor: 3, config: {{min.insync.replicas: {}}}{}}}\n"
    stage.deployment.write({"elr.v1.yaml": declared.format(3, "")})
    stage.up()
    stage.cluster.sandbox.stop(_LAST_BROKER)
    try:
        until(lambda: _eligible(stage) == (_LAST_BROKER,), "the stopped broker is an eligible leader")
        behind = finding(_audit(stage, "elr.v1"), "elr.v1", "under-replicated")
        assert any(f"eligible leader replicas: {_LAST_BROKER}" in reason for reason in behind.because), behind
        stage.deployment.write({"elr.v1.yaml": declared.format(2, ", allow: [lower-min-insync]")})
        assert one(stage.deployment.plan(), "elr.v1", "eligible-leaders").evidence["partitions"] == 1
        stage.up()
        until(lambda: _eligible(stage) == (), "the changed minimum has cleared the eligible leaders")
    finally:
        stage.cluster.sandbox.start(_LAST_BROKER)


def share_groups(stage: Stage) -> None:
    """A share group (KIP-932) is in the audit, and no loss is reported."""
    _topic(stage, "shared.v1", RECORDS)
    folder = stage.deployment.project.root
    consumer = Jvm(stage.cluster.java, maven_jars.provide("newest"))
    read = share_consumer(consumer, stage.servers, "shared.v1", "sharing", records=RECORDS, folder=folder)
    assert read.returncode == 0, read.stdout + read.stderr
    until(lambda: bool(_groups(stage, "shared.v1")["sharing"].offsets), "the share group has an offset")
    assert _groups(stage, "shared.v1")["sharing"].share
    report = _audit(stage, "shared.v1", "__share_group_state")
    assert _failed(report) == []
    assert "__share_group_state" in {topic.name for topic in report.topics}


def streams_groups(stage: Stage) -> None:
    """A streams group (KIP-1071) is seen with its members, and its internal topics are recognized."""
    tools = toolchain(Project(REPOSITORY))
    class_path = (tools.kafka_jars, maven_jars.provide("applications"))
    application = JavaApplication(tools.java, class_path, stage.deployment.project.root / "streams")
    with streams.counting(stage.servers, application, "streams"):
        group = _groups(stage, streams.WORDS)[streams.APPLICATION]
        assert group.streams, group
        assert not group.hidden, group
        assert (group.state, group.members) == ("Stable", 1), group
        assert (streams.WORDS, 0) in group.assigned, group
        report = _audit(stage, streams.WORDS, f"{streams.APPLICATION}-*")
    assert finding(report, streams.CHANGELOG, "internal-policy").verdict is Verdict.PASS
    assert _failed(report) == []


def cordoned(stage: Stage) -> None:
    """A broker whose log directories are cordoned (KIP-1066) gets no replicas of new topics, and none that move."""
    with connected(stage.servers) as admin:
        broker = ConfigResource(ConfigResourceType.BROKER, str(_LAST_BROKER), {"cordoned.log.dirs": "*"})
        admin.alter_configs([broker], incremental=True)
    try:
        declared = "{{owner: team, partitions: 6, replication_factor: {}, config: {{min.insync.replicas: 1}}}}\n"
        stage.deployment.write({"cordoned.v1.yaml": declared.format(1)})
        stage.up()
        assert _brokers(stage, "cordoned.v1") == {1, 2}
        stage.deployment.write({"cordoned.v1.yaml": declared.format(2)})
        stage.command("rebalance", "--stack", "dev", "--yes")
        assert _brokers(stage, "cordoned.v1") == {1, 2}
        stage.up()
        stage.deployment.write({"cordoned.v1.yaml": declared.format(3)})
        assert "without cordoned brokers (3)" in one(stage.deployment.plan(), "cordoned.v1", "too-few-brokers").message
        stage.deployment.write({"cordoned.v1.yaml": declared.format(2)})
    finally:
        with connected(stage.servers) as admin:
            broker = ConfigResource(ConfigResourceType.BROKER, str(_LAST_BROKER), {"cordoned.log.dirs": ""})
            admin.alter_configs([broker], incremental=True)


def empty_cleanup_policy(stage: Stage) -> None:
    """A topic with an empty ``cleanup.policy`` keeps its records, and no check expects them to be deleted."""
    declared = "{owner: team, partitions: 1, replication_factor: 1, config: {cleanup.policy: [], retention.ms: 1}}\n"
    stage.deployment.write({"kept.v1.yaml": declared})
    stage.up()
    assert stage.own_config("kept.v1") == {"cleanup.policy": "", "retention.ms": "1"}
    with writing(stage.servers) as writer:
        for _ in range(RECORDS):
            writer.send("kept.v1", "k", "v", timestamp=1_700_000_000_000)
    report = _audit(stage, "kept.v1")
    assert _failed(report) == []
    live = stage.live("kept.v1")
    assert live is not None
    assert (live.extents[0].start, live.extents[0].end) == (0, RECORDS)


def small_segments(stage: Stage) -> None:
    """``segment.bytes`` below 1 MiB: `check` refuses it for the versions whose brokers refuse it (KIP-1030)."""
    newer = kafka_lines().index(stage.cluster.version.line) >= kafka_lines().index("4.1")
    declared = "{owner: team, partitions: 1, replication_factor: 1, config: {segment.bytes: 1000}}\n"
    stage.deployment.write({"small.v1.yaml": declared})
    checked = stage.deployment.shell.topicwarden("check")
    with connected(stage.servers) as admin:
        answer = admin.create_topics(
            [NewTopic("small.broker", 1, 1, topic_configs={"segment.bytes": "1000"})], raise_errors=False
        )
    refused = any(topic["error_code"] for topic in answer["topics"])
    assert (checked.returncode == 1, refused) == (newer, newer), checked.stdout + str(answer)
    stage.deployment.remove("small.v1.yaml")


FEATURES: Final[Mapping[str, Feature]] = {
    "empty cleanup.policy (KIP-1161)": Feature("3.9", empty_cleanup_policy),
    "minimum of segment.bytes (KIP-1030)": Feature("3.9", small_segments),
    "consumer protocol (KIP-848)": Feature("4.0", consumer_protocol),
    "transactions version 2 (KIP-890)": Feature("4.0", transactions),
    "eligible leader replicas (KIP-966)": Feature("4.1", eligible_leaders),
    "share groups (KIP-932)": Feature("4.2", share_groups),
    "streams groups (KIP-1071)": Feature("4.2", streams_groups),
    "cordoned log directories (KIP-1066)": Feature("4.3", cordoned),
}


def _topic(stage: Stage, name: str, records: int = 0) -> None:
    with connected(stage.servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
    with writing(stage.servers) as writer:
        for number in range(records):
            writer.send(name, f"k{number}", "v")


@contextmanager
def _consuming(stage: Stage, topic: str, settings: Mapping[str, str]) -> Iterator[None]:
    """Run a consumer that has read and committed every record of ``topic``."""
    consumer = Consumer({"bootstrap.servers": ",".join(stage.servers), **settings})
    try:
        consumer.subscribe([topic])
        read = 0
        while read < RECORDS:
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None, message.error()
            read += 1
        consumer.commit(asynchronous=False)
        yield
    finally:
        consumer.close()


def _groups(stage: Stage, topic: str) -> dict[str, ConsumerGroup]:
    with open_cluster(connect_to(stage.deployment.project, "dev")) as cluster:
        return {group.name: group for group in cluster.groups([topic])}


def _audit(stage: Stage, *topics: str) -> AuditReport:
    with auditing(stage.deployment.project, "dev") as audit_topics:
        return audit_topics(topics)


def _failed(report: AuditReport) -> list[Finding]:
    """Return what failed, except that nobody declares the topics of the tests."""
    failed = (each for each in report.findings if each.verdict is Verdict.FAIL)
    return [each for each in failed if each.check != "topic-undeclared"]


def _eligible(stage: Stage) -> tuple[int, ...]:
    live = stage.live("elr.v1")
    assert live is not None
    return live.replicas[0].eligible


def _brokers(stage: Stage, topic: str) -> set[int]:
    live = stage.live(topic)
    assert live is not None
    return {broker for state in live.replicas for broker in state.replicas}
