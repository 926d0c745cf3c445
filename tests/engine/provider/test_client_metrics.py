"""Test client-metrics subscriptions on a real broker: deploys, a change by hand, and an import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.provider.access_stack import AccessStack
from topicwarden.kafka.write.access_admin import CLIENT_METRICS
from topicwarden.kinds.client_metrics.change import Subscription
from topicwarden.specs.yaml_nodes import read_documents


@pytest.fixture
def stack(access_stack: AccessStack) -> AccessStack:
    return access_stack


DECLARED = """
client_metrics:
  NAME-producers:
    interval.ms: 30s
    metrics: [org.apache.kafka.producer., org.apache.kafka.client.]
    match: {client_id: NAME-.*, client_software_name: apache-kafka-java}
"""


def settings(stack: AccessStack) -> dict[str, str]:
    return dict((stack.live().client_metrics or {}).get(Subscription(f"{stack.name}-producers"), {}))


def test_a_subscription_is_deployed_changed_audited_imported_and_removed(
    stack: AccessStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = stack.name
    stack.declare(DECLARED)
    stack.up()
    declared = {
        "interval.ms": "30000",
        "metrics": "org.apache.kafka.producer.,org.apache.kafka.client.",
        "match": f"client_id={name}-.*,client_software_name=apache-kafka-java",
    }
    assert settings(stack) == declared
    stack.pulumi("preview --expect-no-changes")

    with stack.admin() as admin:
        assert (
            CLIENT_METRICS.alter(
                admin, {f"{name}-producers": {"interval.ms": "1000"}, f"{name}-other": {"metrics": "*"}}
            )
            == {}
        )
    plan = json.loads(stack.shell.in_process("plan", "--stack", "dev", "--format", "json").stdout)
    assert [(each["kind"], each["action"], each["name"]) for each in plan["access"]["items"]] == [
        ("client metrics", "drift", f"{name}-producers")
    ]
    assert plan["access"]["foreign"]["client metrics"] == 1
    options = ("--format", "json", "--history", "none")
    audit = stack.shell.in_process("audit", "--stack", "dev", *options)
    found = [each for each in json.loads(audit.stdout)["findings"] if each["check"] == "client-metrics-drift"]
    assert [(each["verdict"], each["message"]) for each in found] == [
        ("fail", f"interval.ms of client metrics {name}-producers is 1s, declared 30s")
    ]

    stack.up("--refresh")
    assert settings(stack) == declared
    stack.declare(DECLARED.replace("org.apache.kafka.producer., ", "").replace("30s", "1m"))
    plan = json.loads(stack.shell.in_process("plan", "--stack", "dev", "--format", "json").stdout)
    assert [each["kind"] for each in plan["access"]["consequences"]] == ["metrics-lost"]
    stack.up()
    assert settings(stack) == declared | {"metrics": "org.apache.kafka.client.", "interval.ms": "60000"}

    stack.declare("quotas: []\n")
    done = stack.shell.in_process("import", "--stack", "dev", "--access", "--files-only")
    (written,) = stack.project.access.glob("imported*.yaml")
    documents, _ = read_documents(written.read_bytes(), "imported.yaml")
    imported = documents[0].value["client_metrics"]
    assert imported[f"{name}-other"] == {"metrics": ["*"]}, done.stdout
    assert imported[f"{name}-producers"]["match"] == {
        "client_id": f"{name}-.*",
        "client_software_name": "apache-kafka-java",
    }
    written.unlink()

    stack.up()
    assert settings(stack) == {}, "what is no longer declared is removed"
    assert (stack.live().client_metrics or {})[Subscription(f"{name}-other")] == {"metrics": "*"}, "others stay"
    with stack.admin() as admin:
        CLIENT_METRICS.alter(admin, {f"{name}-other": {"metrics": None}})
