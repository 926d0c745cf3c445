"""Test that data hidden from this user is reported as hidden, not guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACLOperation, NewTopic, ResourceType
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.reports import finding
from tests.support.restricted_user import AUTHORIZER, grant
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import Severity
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.plan.predict import predict
from topicwarden.policies.check_specs import check

_DECLARED = "{owner: team, partitions: 1, replication_factor: 1, config: {retention.ms: 1d, cleanup.policy: compact}}"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, java: Path, jars: Path) -> Iterator[Project]:
    """Topics with hidden configuration, hidden records, or a hidden name. Log sizes are hidden too."""
    folder = tmp_path_factory.mktemp("permissions")
    sandbox = Sandbox(folder / "guarded", java, jars)
    try:
        sandbox.up(brokers=1, heap="256m", overrides=AUTHORIZER)
        servers = sandbox.bootstrap_servers
        names = ("mute.v1", "sealed.v1", "hidden.v1")
        with KafkaAdminClient(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in names])
            with writing(servers) as writer:
                for name in names:
                    writer.send(name, "k", "v")
            seen = [ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS]
            grant(admin, ResourceType.TOPIC, "mute.v1", [ACLOperation.READ])
            grant(admin, ResourceType.TOPIC, "sealed.v1", seen)
            grant(admin, ResourceType.TOPIC, "hidden.v1", [ACLOperation.CREATE])
            grant(admin, ResourceType.CLUSTER, "kafka-cluster", [ACLOperation.CREATE])
        settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
        with own_cache(folder):
            yield project_of(folder / "project", {f"permissions/{name}.yaml": _DECLARED for name in names}, settings)
    finally:
        sandbox.down(remove=True)


@pytest.fixture
def cluster(project: Project) -> Iterator[Cluster]:
    with open_cluster(connect_to(project, "dev")) as cluster:
        yield cluster


def test_hidden_parts_are_named(project: Project, cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    assert set(snapshot.topics) == {"mute.v1", "sealed.v1"}
    assert snapshot.unseen == (
        "the configuration of 1 topic (DescribeConfigs on it): mute.v1",
        "the brokers' own settings (DescribeConfigs on the Cluster resource)",
        "the sizes of the logs (Describe on the Cluster resource)",
    )


def test_nothing_is_predicted_for_hidden_topics(project: Project, cluster: Cluster) -> None:
    before = DeployedTopic("", 1, 1, {"retention.ms": str(7 * 86_400_000), "cleanup.policy": "delete"})
    declared = check(project, ["dev"]).declarations["dev"]
    deployed = {declaration.topic.name: replace(before, name=declaration.topic.name) for declaration in declared}
    plans = {
        plan.topic: plan
        for plan in predict(cluster, cluster.snapshot(expected=deployed), declared, DeployedStack(deployed)).plans
    }
    assert [one.kind for one in plans["mute.v1"].consequences] == ["unseen"]
    assert {setting.live for setting in plans["mute.v1"].settings} == {None}
    (compaction,) = [one for one in plans["sealed.v1"].consequences if one.kind == "compaction"]
    assert compaction.severity is Severity.REFUSED
    assert compaction.measured.startswith("the records could not be read (Read on the topic)")
    (hidden,) = [one for one in plans["hidden.v1"].consequences if one.kind == "unseen"]
    assert hidden.severity is Severity.REFUSED
    assert "do not report whether the topic exists" in hidden.message


def test_an_unreadable_topic_does_not_stop_an_audit(project: Project, cluster: Cluster, spark: SparkSession) -> None:
    snapshot = cluster.snapshot()
    assert cluster.unreadable(snapshot, snapshot.topics) == {"sealed.v1"}
    with auditing(project, "dev", options=AuditOptions("none")) as look:
        report = look(())
    sealed, mute = finding(report, "sealed.v1", "retention-time"), finding(report, "mute.v1", "config-drift")
    assert (sealed.verdict, sealed.remedy) == (Verdict.UNDECIDABLE, "grant Read on the topic")
    assert mute.verdict is Verdict.UNDECIDABLE
    assert finding(report, "hidden.v1", "topic-missing").verdict is Verdict.UNDECIDABLE
    assert ("hidden.v1", Verdict.FAIL) not in {(one.topic, one.verdict) for one in report.findings}
