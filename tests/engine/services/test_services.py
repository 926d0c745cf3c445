"""Test that plan, deploy and audit do what is right on each managed or compatible service."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from pyspark.sql import SparkSession

from tests.engine.predictions.conftest import of
from tests.engine.services.conftest import DAY, SERVICES, OnService, topics
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import ApacheLog
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.write.config_admin import connected
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing

ServiceFixture: TypeAlias = Callable[[str], OnService]
each_service = pytest.mark.parametrize("name", SERVICES)
ON_LOG = {check for check, each in CHECKS.items() if issubclass(each.Required, ApacheLog)}


@each_service
def test_the_service_is_detected_by_its_host_names(name: str, on_service: ServiceFixture) -> None:
    with open_cluster(Connection(tuple(on_service(name).servers), tls=False)) as cluster:
        recognized = cluster.service.name
    assert recognized == (name if name in ("confluent-cloud", "redpanda", "warpstream") else "apache")


@each_service
def test_a_deployed_topic_has_no_drift(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    report = stack.plan()
    assert report.topics == []
    done = stack.shell.topicwarden("plan", "--stack", "dev", "--detailed-exitcode")
    assert done.returncode == 0, done.stdout + done.stderr


@each_service
def test_a_refresh_keeps_what_was_declared(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    stack.pulumi("refresh --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert stack.plan().topics == []


@each_service
def test_an_audit_on_a_service_concludes_only_what_holds_there(
    name: str, on_service: ServiceFixture, sandbox: Sandbox, spark: SparkSession
) -> None:
    stack = on_service(name).stack
    with writing(sandbox.bootstrap_servers) as writer:
        for number in range(20):
            writer.send(f"{name}.orders", f"k{number % 5}", "v")
            writer.send(f"{name}.events", f"k{number}", "v")
    with auditing(stack.project, "dev") as audit:
        report = audit((f"{name}.*",))
    verdicts = {(finding.topic, finding.check): finding for finding in report.findings}
    assert {finding.check for finding in report.findings if finding.verdict is Verdict.FAIL} == set()
    assert verdicts[f"{name}.events", "config-drift"].verdict is Verdict.PASS
    judged = {key: finding for key, finding in verdicts.items() if finding.check in ON_LOG}
    assert {check for _, check in judged} >= {"retention-time", "retention-blocked", "compaction-ratio"}
    log = PROFILES[name].log
    if log.apache:
        assert not [finding for finding in judged.values() if "does not store" in finding.message]
    for finding in judged.values() if not log.apache else ():
        assert finding.verdict is Verdict.UNDECIDABLE, finding
        assert finding.because == [log.fact.text]
        assert finding.remedy == f"see {log.fact.source}"
    assert report.scanned_records == 40


@pytest.mark.parametrize("name", ["warpstream", "redpanda", "confluent-cloud"])
def test_settings_change_and_others_stay(name: str, on_service: ServiceFixture) -> None:
    """WarpStream has no IncrementalAlterConfigs: all settings are written. Redpanda shows a set default as not set."""
    servers, stack = on_service(name).servers, on_service(name).stack
    stack.write(topics(name, **{"retention.ms: 7d, max.message.bytes: 2MiB": "retention.ms: 9d"}))
    plan = of(stack.plan(), f"{name}.events")
    assert [setting.name for setting in plan.settings] == ["max.message.bytes", "retention.ms"]
    done = stack.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "does not show the change yet" not in done
    with open_cluster(Connection(tuple(servers), tls=False)) as cluster:
        live = cluster.snapshot({f"{name}.events", f"{name}.orders"}).topics
    assert live[f"{name}.events"].own_config == {"retention.ms": str(9 * DAY)}
    assert live[f"{name}.orders"].own_config == {"cleanup.policy": "compact"}

    stack.write(topics(name))
    done = stack.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "does not show the change yet" not in done
    assert stack.plan().topics == []


@pytest.mark.parametrize("name", ["redpanda", "confluent-cloud"])
def test_an_import_writes_explicit_settings(name: str, on_service: ServiceFixture, sandbox: Sandbox) -> None:
    stack = on_service(name).stack
    topic, day = f"{name}.found", {"retention.ms": str(DAY)}
    with connected(sandbox.bootstrap_servers) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 3, "configs": day}})
    done = stack.shell.topicwarden("import", "--stack", "dev", "--files-only", "--dry-run", topic)
    assert done.returncode == 0, done.stdout + done.stderr
    written = [line.lstrip("+ ") for line in done.stdout.splitlines() if line.startswith("+  ")]
    assert written == ["retention.ms: 1d"]


@pytest.mark.parametrize("name", ["warpstream"])
def test_replicas_of_warpstream_cannot_be_moved(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    done = stack.shell.topicwarden("rebalance", "--stack", "dev", "--dry-run")
    assert done.returncode == 2
    assert "WarpStream has no AlterPartitionReassignments: an object store keeps the records" in done.stderr
    assert "https://docs.warpstream.com/" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["msk-serverless"])
def test_a_cleanup_policy_that_the_service_fixes_is_refused(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    stack.write(topics(name, **{"cleanup.policy: compact": "cleanup.policy: delete"}))
    try:
        consequence = next(
            each for each in of(stack.plan(), f"{name}.orders").consequences if each.kind == "fixed-policy"
        )
        assert consequence.message == (
            "cleanup.policy is compact and will be delete; MSK Serverless refuses this change of an existing topic"
        )
        assert "serverless-config.html" in stack.refused("preview")
    finally:
        stack.write(topics(name))
