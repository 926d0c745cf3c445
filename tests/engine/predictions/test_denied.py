"""Deny each permission in turn, and test that hidden data is not reported as known.

Hidden data must not lead to a `fail`, a `pass`, a zero, or an allowed change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    NewTopic,
    ResourcePattern,
    ResourceType,
)
from kafka.errors import ClusterAuthorizationFailedError
from pyspark.sql import SparkSession

from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import AUTHORIZER
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.finding import AuditReport
from topicwarden.model.planned_change import Severity, TopicPlan
from topicwarden.model.project import Project
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.plan.predict import predict
from topicwarden.policies.check_specs import check

HOUR, DAY = 3_600_000, 86_400_000
_WHOLE = (ResourceType.CLUSTER, "kafka-cluster")
_BROKER = {
    "log.retention.check.interval.ms": str(30 * DAY),
    "log.initial.task.delay.ms": str(30 * DAY),
    "log.cleaner.enable": "false",
    "log.retention.hours": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
"""Values that differ from Kafka's defaults. The test fails if a default is used in place of the broker's value."""

LIVE = {
    "expired.v1": {"retention.ms": str(HOUR)},
    "compacted.v1": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"},
    "large.v1": {"retention.bytes": "1000", "segment.bytes": "1048576", "retention.ms": "-1"},
    "read.v1": {"retention.ms": "-1"},
    "broken.v1": {"retention.ms": "-1"},
    "undeclared.v1": {},
    "my-offsets": {"cleanup.policy": "compact"},
}
_CONNECT_KEY = '["source",{"file":"a"}]'

_YAML = "{{owner: team, partitions: {partitions}, replication_factor: 1, config: {{{config}}}{more}}}\n"


def _yaml(config: str, more: str = "", partitions: int = 1) -> str:
    return _YAML.format(config=config, more=more, partitions=partitions)


DECLARED = {
    "expired.v1": _yaml("retention.ms: 1h"),
    "compacted.v1": _yaml("cleanup.policy: compact, min.cleanable.dirty.ratio: 0.01, segment.ms: 1s"),
    "large.v1": _yaml("retention.bytes: 1000, segment.bytes: 1MiB, retention.ms: -1"),
    "read.v1": _yaml("retention.ms: -1"),
    "broken.v1": _yaml("retention.ms: 7d", ", contents: {key: {required: true}, value: {format: json}}"),
}
CHANGED = {
    "expired.v1": _yaml("retention.ms: 1m"),
    "compacted.v1": _yaml("cleanup.policy: 'compact,delete', retention.ms: 1m, segment.ms: 1s", partitions=2),
    "large.v1": _yaml("retention.bytes: 500, segment.bytes: 1MiB, retention.ms: -1, max.message.bytes: 1000"),
    "read.v1": _yaml("cleanup.policy: compact, retention.ms: 1d"),
    "broken.v1": _yaml("min.insync.replicas: 1"),
}
"""The YAML that this module's plans compare with the cluster; the YAML of every other topic is deleted."""


@dataclass(frozen=True)
class Guarded:
    """A broker with an authorizer that allows everything except the currently denied permissions."""

    project: Project
    servers: list[str]

    @contextmanager
    def denied(self, *permissions: tuple[ResourceType, str, ACLOperation]) -> Iterator[None]:
        acls = [
            ACL("User:ANONYMOUS", "*", operation, ACLPermissionType.DENY, ResourcePattern(kind, name))
            for kind, name, operation in permissions
        ]
        with KafkaAdminClient(bootstrap_servers=self.servers) as admin:
            filters = [
                ACLFilter("User:ANONYMOUS", "*", one.operation, one.permission_type, one.resource_pattern)
                for one in acls
            ]

            def in_force(number: int) -> bool:
                """Return whether the broker has so many of these ACLs."""
                try:
                    return sum(len(admin.describe_acls(one)[0]) for one in filters) == number
                except ClusterAuthorizationFailedError:  # one of them denies Describe on the cluster
                    return number > 0

            # Brokers apply ACLs from the metadata log, after the controller has answered.
            admin.create_acls(acls)
            try:
                until(lambda: in_force(len(acls)), "the permissions are denied")
                yield
            finally:
                admin.delete_acls(filters)
                until(lambda: in_force(0), "nothing is denied")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, java: Path, jars: Path) -> Iterator[Guarded]:
    with own_cache(tmp_path_factory.mktemp("denied")) as folder:
        sandbox = Sandbox(folder / "guarded", java, jars)
        try:
            sandbox.up(brokers=1, heap="384m", overrides=AUTHORIZER | _BROKER)
            servers = sandbox.bootstrap_servers
            _fill(servers)
            settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
            files = {f"permissions/{name}.yaml": text for name, text in DECLARED.items()}
            yield Guarded(project_of(folder / "project", files, settings), servers)
        finally:
            sandbox.down(remove=True)


def _fill(servers: list[str]) -> None:
    everything = [
        ResourcePattern(kind, name)
        for kind, name in (
            (ResourceType.TOPIC, "*"),
            (ResourceType.GROUP, "*"),
            (ResourceType.TRANSACTIONAL_ID, "*"),
            _WHOLE,
        )
    ]
    old = int(time.time() * 1000) - 2 * DAY
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        admin.create_acls(
            [ACL("User:ANONYMOUS", "*", ACLOperation.ALL, ACLPermissionType.ALLOW, one) for one in everything]
        )
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=config) for name, config in LIVE.items()])
        with writing(servers) as writer:
            for number in range(20):
                writer.send("expired.v1", f"k{number}", "v", old + number)
                writer.send("compacted.v1", f"k{number % 3}", None if number % 5 == 0 else "v", old + number * 10_000)
                writer.send("read.v1", f"k{number % 4}", "v")
                writer.send("broken.v1", None if number % 2 else "k", "{no json")
                writer.send("undeclared.v1", "k", "v")
                writer.send("my-offsets", _CONNECT_KEY, '{"position":1}')
            for _ in range(6):
                writer.send("large.v1", "k", os.urandom(500_000))
        for group, topic, offset in (("reader", "read.v1", 2), ("slow", "expired.v1", 3)):
            committed = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
            retry_transient(partial(admin.alter_group_offsets, group, committed))
        admin.delete_records({TopicPartition("read.v1", 0): 5})


@pytest.fixture(scope="module")
def look(guarded: Guarded, spark: SparkSession) -> Iterator[AuditFunction]:
    with auditing(guarded.project, "dev", options=AuditOptions("none")) as look:
        yield look


@pytest.fixture(scope="module")
def whole(look: AuditFunction) -> AuditReport:
    return look(())


@pytest.fixture(scope="module")
def denied(guarded: Guarded, look: AuditFunction) -> Callable[[str], AuditReport]:
    """Return a function that audits without the permissions of a denial, once for each denial."""

    @cache
    def audit(denial: str) -> AuditReport:
        with guarded.denied(*DENIALS[denial]):
            return look(())

    return audit


def verdicts(report: AuditReport) -> dict[tuple[str, str], Verdict]:
    """Return the most severe verdict of each check on each topic."""
    found: dict[tuple[str, str], Verdict] = {}
    for one in report.findings:
        subject = one.topic, one.check
        found[subject] = min(one.verdict, found.get(subject, one.verdict), key=WORST_FIRST.index)
    return found


TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
DENIALS = {
    "Describe on a topic": ((TOPIC, "expired.v1", ACLOperation.DESCRIBE),),
    "Describe on __consumer_offsets": ((TOPIC, "__consumer_offsets", ACLOperation.DESCRIBE),),
    "DescribeConfigs on a topic": ((TOPIC, "compacted.v1", ACLOperation.DESCRIBE_CONFIGS),),
    "DescribeConfigs on all topics": ((TOPIC, "*", ACLOperation.DESCRIBE_CONFIGS),),
    "Read on a topic": ((TOPIC, "read.v1", ACLOperation.READ),),
    "Read on all topics": ((TOPIC, "*", ACLOperation.READ),),
    "Describe on the cluster": ((*_WHOLE, ACLOperation.DESCRIBE),),
    "DescribeConfigs on the cluster": ((*_WHOLE, ACLOperation.DESCRIBE_CONFIGS),),
    "Describe on a group": ((GROUP, "reader", ACLOperation.DESCRIBE),),
    "Describe on all groups and the cluster": (
        (GROUP, "*", ACLOperation.DESCRIBE),
        (*_WHOLE, ACLOperation.DESCRIBE),
    ),
    "Describe on transactional ids": ((ResourceType.TRANSACTIONAL_ID, "*", ACLOperation.DESCRIBE),),
}


def test_with_every_permission_the_audit_has_verdicts(whole: AuditReport) -> None:
    found = verdicts(whole)
    print(sorted((*subject, verdict.value) for subject, verdict in found.items() if verdict is not Verdict.PASS))
    assert found["undeclared.v1", "topic-undeclared"] is Verdict.FAIL
    assert found["my-offsets", "topic-undeclared"] is Verdict.UNDECIDABLE, "there is no group of workers"
    assert found["broken.v1", "value-schema"] is Verdict.FAIL
    assert found["broken.v1", "config-drift"] is Verdict.FAIL
    assert found["read.v1", "group-lag"] is Verdict.UNDECIDABLE
    assert found["large.v1", "retention-size"] is Verdict.SUSPECT
    assert found["expired.v1", "retention-time"] is Verdict.PASS, "the brokers look every 30 days"


@pytest.mark.parametrize("denial", DENIALS)
def test_hidden_data_leads_to_no_verdict(denied: Callable[[str], AuditReport], whole: AuditReport, denial: str) -> None:
    report = denied(denial)
    known, found = verdicts(whole), verdicts(report)
    wrong = [
        f"{topic} {check}: {verdict.value}, with every permission {known.get((topic, check))}"
        for (topic, check), verdict in found.items()
        if verdict in (Verdict.FAIL, Verdict.PASS) and known.get((topic, check)) is not verdict
    ]
    hidden = {name for kind, name, operation in DENIALS[denial] if operation is ACLOperation.DESCRIBE}
    left_out = [
        f"{topic} {check}: left out, with every permission {verdict.value}"
        for (topic, check), verdict in known.items()
        if (topic, check) not in found and topic not in hidden and not topic.startswith("__")
    ]
    zeros = [
        f"{topic.name}: {name} is 0, with every permission {value}"
        for topic in report.topics
        for before in whole.topics
        if before.name == topic.name
        for partition, was in zip(topic.partitions, before.partitions, strict=False)
        for name, value in was.model_dump().items()
        if value and getattr(partition, name) == 0 and name not in ("gaps", "lost_to_retention")
    ]
    assert wrong + left_out + zeros == []


@pytest.mark.parametrize("denial", ["DescribeConfigs on a topic", "Read on a topic"])
def test_the_other_topics_are_judged_as_before(
    denied: Callable[[str], AuditReport], whole: AuditReport, denial: str
) -> None:
    (hidden,) = (name for _, name, _ in DENIALS[denial])
    found, known = (
        {subject: verdict for subject, verdict in verdicts(report).items() if subject[0] != hidden}
        for report in (denied(denial), whole)
    )
    assert found == known


def plans(guarded: Guarded) -> dict[str, TopicPlan]:
    """Return the plans for the changed YAML, where the stack has deployed the live topics.

    Two of the live topics are no longer declared.
    """
    project = project_of(
        guarded.project.root.with_name("changed"), {f"{name}.yaml": text for name, text in CHANGED.items()}
    )
    connection = connect_to(guarded.project, "dev")
    declared = check(project, ["dev"]).declarations["dev"]
    deployed = DeployedStack({name: DeployedTopic(name, 1, 1, config) for name, config in LIVE.items()})
    with open_cluster(connection) as cluster:
        snapshot = cluster.snapshot(expected=LIVE)
        return {plan.topic: plan for plan in predict(cluster, snapshot, declared, deployed).plans}


@pytest.fixture(scope="module")
def predicted(guarded: Guarded) -> dict[str, TopicPlan]:
    return plans(guarded)


@pytest.mark.parametrize("denial", DENIALS)
def test_a_denied_permission_never_lowers_a_severity(
    guarded: Guarded, predicted: dict[str, TopicPlan], denial: str
) -> None:
    with guarded.denied(*DENIALS[denial]):
        found = plans(guarded)
    milder = [
        f"{name}: {found[name].severity if name in found else 'no plan'}, with every permission {plan.severity}"
        for name, plan in predicted.items()
        if plan.severity is Severity.REFUSED and (name not in found or found[name].severity is not Severity.REFUSED)
    ]
    zeros = [
        f"{name} {one.kind}: {key} is 0, with every permission {value}: {one.message}"
        for name, plan in predicted.items()
        for before in plan.consequences
        for one in (found[name].consequences if name in found else ())
        if one.kind == before.kind
        for key, value in before.evidence.items()
        if value and one.evidence.get(key) == 0 and not isinstance(one.evidence.get(key), str)
    ]
    assert milder + zeros == []
