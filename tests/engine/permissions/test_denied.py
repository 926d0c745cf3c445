"""Deny each permission in turn, and test that hidden data is not reported as known.

Hidden data must not lead to a `fail`, a `pass`, a zero, or an allowed change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.engine.permissions.scenes import EVERYTHING
from tests.support.projects import project_of
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.access import Acl, Operation
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


@pytest.fixture(scope="module")
def project(cluster: RestrictedCluster, folder: Path) -> Iterator[Project]:
    """Return a project on topics of its own; without a denial, its user may do everything."""
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        _fill(admin, cluster.servers)
        files = {f"denied/{name}.yaml": text for name, text in DECLARED.items()}
        with cluster.granted(EVERYTHING):
            yield project_of(folder / "denied", files, cluster.settings)
        admin.delete_topics(list(LIVE))


def _fill(admin: KafkaAdminClient, servers: list[str]) -> None:
    old = int(time.time() * 1000) - 2 * DAY
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
def look(project: Project, spark: SparkSession) -> Iterator[AuditFunction]:
    with auditing(project, "dev", options=AuditOptions("none")) as look:
        yield look


@pytest.fixture(scope="module")
def whole(look: AuditFunction) -> AuditReport:
    return look(())


@pytest.fixture(scope="module")
def denied(cluster: RestrictedCluster, look: AuditFunction) -> Callable[[str], AuditReport]:
    """Return a function that audits without the permissions of a denial, once for each denial."""

    @cache
    def audit(name: str) -> AuditReport:
        with cluster.granted(DENIALS[name]):
            return look(())

    return audit


def verdicts(report: AuditReport) -> dict[tuple[str, str], Verdict]:
    """Return the most severe verdict of each check on each topic."""
    found: dict[tuple[str, str], Verdict] = {}
    for one in report.findings:
        subject = one.topic, one.check
        found[subject] = min(one.verdict, found.get(subject, one.verdict), key=WORST_FIRST.index)
    return found


def denial(operation: str, resource: str, name: str = "*") -> Acl:
    return rule(operation, resource, name, permission="Deny")


_CLUSTER = "kafka-cluster"
DENIALS = {
    "Describe on a topic": (denial("Describe", "Topic", "expired.v1"),),
    "Describe on __consumer_offsets": (denial("Describe", "Topic", "__consumer_offsets"),),
    "DescribeConfigs on a topic": (denial("DescribeConfigs", "Topic", "compacted.v1"),),
    "DescribeConfigs on all topics": (denial("DescribeConfigs", "Topic"),),
    "Read on a topic": (denial("Read", "Topic", "read.v1"),),
    "Read on all topics": (denial("Read", "Topic"),),
    "Describe on the cluster": (denial("Describe", "Cluster", _CLUSTER),),
    "DescribeConfigs on the cluster": (denial("DescribeConfigs", "Cluster", _CLUSTER),),
    "Describe on a group": (denial("Describe", "Group", "reader"),),
    "Describe on all groups and the cluster": (denial("Describe", "Group"), denial("Describe", "Cluster", _CLUSTER)),
    "Describe on transactional ids": (denial("Describe", "TransactionalId"),),
}
of_one_resource = pytest.mark.nightly(
    "The matrix of permissions takes each permission on all resources of a kind from audits and plans.",
    stays=("Describe on a topic", "Describe on __consumer_offsets", "DescribeConfigs on a topic", "Read on a topic"),
)


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


@of_one_resource
@pytest.mark.parametrize("name", DENIALS)
def test_hidden_data_leads_to_no_verdict(denied: Callable[[str], AuditReport], whole: AuditReport, name: str) -> None:
    report = denied(name)
    known, found = verdicts(whole), verdicts(report)
    wrong = [
        f"{topic} {check}: {verdict.value}, with every permission {known.get((topic, check))}"
        for (topic, check), verdict in found.items()
        if verdict in (Verdict.FAIL, Verdict.PASS) and known.get((topic, check)) is not verdict
    ]
    hidden = {each.resource_name for each in DENIALS[name] if each.operation is Operation.DESCRIBE}
    left_out = [
        f"{topic} {check}: left out, with every permission {verdict.value}"
        for (topic, check), verdict in known.items()
        if (topic, check) not in found and topic not in hidden and not topic.startswith("__")
    ]
    zeros = [
        f"{topic.name}: {field} is 0, with every permission {value}"
        for topic in report.topics
        for before in whole.topics
        if before.name == topic.name
        for partition, was in zip(topic.partitions, before.partitions, strict=False)
        for field, value in was.model_dump().items()
        if value and getattr(partition, field) == 0 and field not in ("gaps", "lost_to_retention")
    ]
    assert wrong + left_out + zeros == []


@pytest.mark.parametrize("name", ["DescribeConfigs on a topic", "Read on a topic"])
def test_the_other_topics_are_judged_as_before(
    denied: Callable[[str], AuditReport], whole: AuditReport, name: str
) -> None:
    (hidden,) = (each.resource_name for each in DENIALS[name])
    found, known = (
        {subject: verdict for subject, verdict in verdicts(report).items() if subject[0] != hidden}
        for report in (denied(name), whole)
    )
    assert found == known


def plans(project: Project) -> dict[str, TopicPlan]:
    """Return the plans for the changed YAML, where the stack has deployed the live topics.

    Two of the live topics are no longer declared.
    """
    files = {f"{name}.yaml": text for name, text in CHANGED.items()}
    changed = project_of(project.root.with_name("changed"), files)
    connection = connect_to(project, "dev")
    declared = check(changed, ["dev"]).declarations["dev"]
    deployed = DeployedStack({name: DeployedTopic(name, 1, 1, config) for name, config in LIVE.items()})
    with open_cluster(connection) as cluster:
        snapshot = cluster.snapshot(expected=LIVE)
        return {plan.topic: plan for plan in predict(cluster, snapshot, declared, deployed).plans}


@pytest.fixture(scope="module")
def predicted(project: Project) -> dict[str, TopicPlan]:
    return plans(project)


@of_one_resource
@pytest.mark.parametrize("name", DENIALS)
def test_a_denied_permission_never_lowers_a_severity(
    cluster: RestrictedCluster, project: Project, predicted: dict[str, TopicPlan], name: str
) -> None:
    with cluster.granted(DENIALS[name]):
        found = plans(project)
    milder = [
        f"{topic}: {found[topic].severity if topic in found else 'no plan'}, with every permission {plan.severity}"
        for topic, plan in predicted.items()
        if plan.severity is Severity.REFUSED and (topic not in found or found[topic].severity is not Severity.REFUSED)
    ]
    zeros = [
        f"{topic} {one.kind}: {key} is 0, with every permission {value}: {one.message}"
        for topic, plan in predicted.items()
        for before in plan.consequences
        for one in (found[topic].consequences if topic in found else ())
        if one.kind == before.kind
        for key, value in before.evidence.items()
        if value and one.evidence.get(key) == 0 and not isinstance(one.evidence.get(key), str)
    ]
    assert milder + zeros == []
