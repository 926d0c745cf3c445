"""Test that a plan tries new rules on the retained records of a deployed topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import Deployment, deployment, of
from topicwarden.audit import tried_rules
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.write.config_admin import connected
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


def test_new_rules_are_tried_before_they_are_deployed(deployed: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    assert deployed.plan().topics == []
    deployed.write({FILE: DECLARED.format(contents=f"{{{JSON}, unique: [{{fields: [id]}}]}}")})
    plan = of(deployed.plan(), TOPIC)
    (broken,) = plan.consequences
    assert (plan.action, broken.kind, broken.severity) == (Action.TRY, "broken-rule", Severity.NOTE)
    assert broken.message.startswith("unique would fail for 4 of 20 retained records: 4 records with the same id as")
    assert broken.location is not None
    assert broken.location.file.endswith(FILE)
    policy = deployed.project.policies / "contents.yaml"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text("contents: {broken_rules: error}\n")
    deployed.write({FILE: DECLARED.format(contents=f"{{{JSON}, key: {{required: true}}}}")})
    report = deployed.plan()
    (refused,) = of(report, TOPIC).consequences
    assert refused.severity is Severity.REFUSED
    assert not report.deployable
    assert "would fail for 1 of 20 retained records" in refused.message
    assert "would fail for 1 of 20 retained records" in " ".join(deployed.refused("up --yes --skip-preview").split())
    policy.unlink()
    deployed.up()
    assert deployed.plan().topics == []
    monkeypatch.setattr(tried_rules, "MOST_RECORDS", 10)
    deployed.write({FILE: DECLARED.format(contents=f"{{{JSON}, records: {{max_bytes: 1KiB}}}}")})
    (sample,) = of(deployed.plan(), TOPIC).consequences
    assert (sample.severity, sample.message) == (
        Severity.NOTE,
        "new rules were tried on the newest 10 records of the topic only",
    )
