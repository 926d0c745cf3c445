"""Test that new rules are tried on the retained records of a topic, in a process with its own Spark session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from topicwarden.deploy.rule_trials import with_tried_rules
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.project import Project
from topicwarden.operations.audit import audit_request
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.plan.changed_rules import recorded_rules
from topicwarden.plan.predict import Prediction
from topicwarden.specs.schema_files import ProjectSchemas

TOPIC = "tried.orders"
DECLARED = (
    "{owner: team, partitions: 2, replication_factor: 1, contents: {value: {format: json}, "
    "unique: [{fields: [id]}], key: {required: true}, records: {max_bytes: 1KiB}}}\n"
)


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    """A topic with 20 records: four have the id of an earlier record, and one has no key."""
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1)])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(20):
        key = None if number == 7 else f"k{number}"
        producer.produce(TOPIC, json.dumps({"id": number % 16}), key, number % 2)
    producer.flush()
    with own_cache(tmp_path):
        yield project_of(tmp_path / "project", {f"{TOPIC}.yaml": DECLARED}, settings)
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])
        until(lambda: TOPIC not in admin.list_topics(), "the topic is gone")


def test_rules_that_are_new_since_the_last_deploy_are_tried(project: Project) -> None:
    checked = checked_stack(project, "dev", "planned")
    request = audit_request(project, "dev", checked, AuditOptions(history="none"))
    with open_cluster(connect_to(project, "dev")) as cluster:
        prediction = Prediction((), cluster.snapshot([TOPIC]))
    (declaration,) = checked.declarations["dev"]
    rules = recorded_rules(declaration, ProjectSchemas(project.root))
    old = {name: rule for name, rule in rules.items() if name not in ("unique", "key.required")}
    deployed = DeployedTopic(TOPIC, 2, 1, {}, rules=old)

    def tried(stack: DeployedStack) -> Prediction:
        return with_tried_rules(
            prediction, project, request.declarations, stack, Severity.REFUSED, request=lambda: request
        )

    found = tried(DeployedStack({TOPIC: deployed}))
    (plan,) = found.plans
    assert (plan.topic, plan.action) == (TOPIC, Action.TRY)
    assert {(each.kind, each.severity) for each in plan.consequences} == {("broken-rule", Severity.REFUSED)}
    messages = {str(each.evidence["check"]): each.message for each in plan.consequences}
    assert messages.keys() == {"unique", "null-key"}
    assert messages["unique"].startswith("unique would fail for 4 of 20 retained records: 4 records with the same id")
    assert "null-key would fail for 1 of 20 retained records" in messages["null-key"]
    unchanged = DeployedStack({TOPIC: DeployedTopic(TOPIC, 2, 1, {}, rules=rules)})
    assert tried(unchanged).plans == ()
