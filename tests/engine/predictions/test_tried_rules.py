"""Test that a plan tries new rules on the retained records of a deployed topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import Deployment, deployment, of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.planned_change import Action, Severity

FILE, TOPIC = "rules/tried.v1.yaml", "tried.v1"
DECLARED = "{{owner: team, partitions: 2, replication_factor: 2, config: {{retention.ms: 7d}}, contents: {contents}}}\n"
JSON = "value: {format: json}"


@pytest.fixture
def deployed(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """A topic with 20 records: four have the id of an earlier record, and one has no key."""
    deployed = deployment(tmp_path / "tried", {FILE: DECLARED.format(contents=f"{{{JSON}}}")})
    with writing(servers) as writer:
        for number in range(20):
            writer.send(TOPIC, None if number == 7 else f"k{number}", json.dumps({"id": number % 16}))
    yield deployed
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])


def test_a_plan_tries_new_rules_on_retained_records(deployed: Deployment) -> None:
    deployed.write({FILE: DECLARED.format(contents=f"{{{JSON}, unique: [{{fields: [id]}}]}}")})
    plan = of(deployed.plan(), TOPIC)
    (broken,) = plan.consequences
    assert (plan.action, broken.kind, broken.severity) == (Action.TRY, "broken-rule", Severity.NOTE)
    assert broken.message.startswith("unique would fail for 4 of 20 retained records: 4 records with the same id as")
    assert broken.location is not None
    assert broken.location.file.endswith(FILE)


def test_a_policy_refuses_rules_that_records_break(deployed: Deployment) -> None:
    policy = deployed.project.policies / "contents.yaml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text("contents: {broken_rules: error}\n")
    deployed.write({FILE: DECLARED.format(contents=f"{{{JSON}, key: {{required: true}}}}")})
    refused = " ".join(deployed.refused("up --yes --skip-preview").split())
    assert "null-key would fail for 1 of 20 retained records" in refused
    policy.unlink()
    deployed.up()
    assert deployed.plan().topics == []
