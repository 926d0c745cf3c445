"""Test that data hidden from this user is reported as hidden, not guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.projects import project_of
from tests.support.reports import finding
from tests.support.restricted_user import RestrictedCluster, rule
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
def project(cluster: RestrictedCluster, folder: Path) -> Iterator[Project]:
    """Topics with hidden configuration, hidden records, or a hidden name. Log sizes are hidden too."""
    names = ("mute.v1", "sealed.v1", "hidden.v1")
    granted = [
        rule("Read", "Topic", "mute.v1"),
        *(rule(operation, "Topic", "sealed.v1") for operation in ("Describe", "DescribeConfigs")),
        rule("Create", "Topic", "hidden.v1"),
        rule("Create", "Cluster", "kafka-cluster"),
    ]
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in names])
        with writing(cluster.servers) as writer:
            for name in names:
                writer.send(name, "k", "v")
        with cluster.granted(granted):
            yield project_of(folder / "hidden", {f"hidden/{name}.yaml": _DECLARED for name in names}, cluster.settings)
        admin.delete_topics(list(names))


@pytest.fixture
def connected(project: Project) -> Iterator[Cluster]:
    with open_cluster(connect_to(project, "dev")) as cluster:
        yield cluster


def test_hidden_parts_are_named(project: Project, connected: Cluster) -> None:
    snapshot = connected.snapshot()
    assert set(snapshot.topics) == {"mute.v1", "sealed.v1"}
    assert snapshot.unseen == (
        "the configuration of 1 topic (DescribeConfigs on it): mute.v1",
        "the brokers' own settings (DescribeConfigs on the Cluster resource)",
        "the sizes of the logs (Describe on the Cluster resource)",
    )


def test_nothing_is_predicted_for_hidden_topics(project: Project, connected: Cluster) -> None:
    before = DeployedTopic("", 1, 1, {"retention.ms": str(7 * 86_400_000), "cleanup.policy": "delete"})
    declared = check(project, ["dev"]).declarations["dev"]
    deployed = {declaration.topic.name: replace(before, name=declaration.topic.name) for declaration in declared}
    plans = {
        plan.topic: plan
        for plan in predict(connected, connected.snapshot(expected=deployed), declared, DeployedStack(deployed)).plans
    }
    assert [one.kind for one in plans["mute.v1"].consequences] == ["unseen"]
    assert {setting.live for setting in plans["mute.v1"].settings} == {None}
    (compaction,) = [one for one in plans["sealed.v1"].consequences if one.kind == "compaction"]
    assert compaction.severity is Severity.REFUSED
    assert compaction.measured.startswith("the records could not be read (Read on the topic)")
    (hidden,) = [one for one in plans["hidden.v1"].consequences if one.kind == "unseen"]
    assert hidden.severity is Severity.REFUSED
    assert "do not report whether the topic exists" in hidden.message


def test_an_unreadable_topic_does_not_stop_an_audit(project: Project, connected: Cluster, spark: SparkSession) -> None:
    snapshot = connected.snapshot()
    assert connected.unreadable(snapshot, snapshot.topics) == {"sealed.v1"}
    with auditing(project, "dev", options=AuditOptions("none")) as look:
        report = look(())
    sealed, mute = finding(report, "sealed.v1", "retention-time"), finding(report, "mute.v1", "config-drift")
    assert (sealed.verdict, sealed.remedy) == (Verdict.UNDECIDABLE, "grant Read on the topic")
    assert mute.verdict is Verdict.UNDECIDABLE
    assert finding(report, "hidden.v1", "topic-missing").verdict is Verdict.UNDECIDABLE
    assert ("hidden.v1", Verdict.FAIL) not in {(one.topic, one.verdict) for one in report.findings}
