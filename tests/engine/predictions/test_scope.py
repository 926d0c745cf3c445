"""Test plans for a part of the topics: of one team on a shared cluster, or those that a user selects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.engine.predictions.conftest import Deployment, deployment, of
from tests.support.stack_state import resources_in_state
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.model.finding import AuditReport
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

ORDERS = {"orders/orders.placed.yaml": "{partitions: 2, replication_factor: 2}\n"}
BILLING = {
    "billing/billing.invoices.yaml": "{partitions: 2, replication_factor: 2, config: {cleanup.policy: compact}}\n",
    "billing/billing.orders.yaml": "{partitions: 1, replication_factor: 2}\n",
}
TMP = "orders.tmp.load"
BY_HAND = "config:\n  topicwarden:cluster: sandbox\n  topicwarden:scope: {topics: 'billing.*'}\n"


@dataclass(frozen=True)
class Teams:
    """The projects of two teams, each with one stack on the same cluster."""

    orders: Deployment
    billing: Deployment


@pytest.fixture(scope="module")
def teams(servers: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    """Two deployed teams with records. The scope of one is set with `pulumi config`, that of the other by hand."""
    folder = tmp_path_factory.mktemp("teams")
    orders = deployment(folder / "orders", {})
    orders.pulumi("config set --path topicwarden:scope.topics[0] orders.*")
    orders.pulumi("config set --path topicwarden:scope.topics[1] !orders.tmp.*")
    orders.write(ORDERS)
    billing = deployment(folder / "billing", {})
    (billing.project.stacks / "Pulumi.dev.yaml").write_text(BY_HAND)
    billing.write(BILLING)
    for team in (orders, billing):
        team.up()
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TMP, num_partitions=1, replication_factor=2)])
    with writing(servers) as writer:
        for topic in ("orders.placed", "billing.invoices", TMP):
            for number in range(20):
                writer.send(topic, f"k{number}", "v")
    yield Teams(orders, billing)
    with connected(servers) as admin:
        ours = [name for name in admin.list_topics() if name.startswith(("orders.", "billing."))]
        admin.delete_topics(ours)


def audited(team: Deployment, *patterns: str) -> AuditReport:
    with auditing(team.project, "dev", options=AuditOptions("none")) as audit_topics:
        return audit_topics(patterns)


def state(cluster: Cluster, prefix: str) -> dict[str, Any]:
    topics = cluster.snapshot().topics
    return {
        name: (live.id, live.topic, dict(live.sources), [each.replicas for each in live.replicas])
        for name, live in topics.items()
        if name.startswith(prefix)
    }


def test_an_audit_reads_and_judges_only_what_the_stack_owns(teams: Teams, spark: SparkSession) -> None:
    orders, billing = audited(teams.orders), audited(teams.billing)
    assert {topic.name for topic in orders.topics} == {"orders.placed"}
    assert {topic.name for topic in billing.topics} == {"billing.invoices", "billing.orders"}
    assert (orders.scanned_records, billing.scanned_records) == (20, 20)
    for report in (orders, billing):
        assert {finding.topic for finding in report.findings} <= {topic.name for topic in report.topics}
        assert not report.counts()[Verdict.FAIL]
    assert orders.scope == ["orders.*", "!orders.tmp.*"]


def test_an_undeclared_topic_in_scope_still_fails_and_without_a_scope_every_one_does(
    teams: Teams, spark: SparkSession
) -> None:
    settings = teams.orders.project.stacks / "Pulumi.dev.yaml"
    written = settings.read_text()

    def undeclared(report: AuditReport) -> set[str]:
        return {each.topic for each in report.findings if (each.check, each.verdict) == ("topic-undeclared", "fail")}

    try:
        settings.write_text(written.replace(", '!orders.tmp.*'", ""))
        assert undeclared(audited(teams.orders, "orders.*", "billing.*")) == {TMP}
        settings.write_text("config: {topicwarden:cluster: sandbox}\n")
        seen = undeclared(audited(teams.orders, "orders.*", "billing.*"))
        assert seen == {TMP, "billing.invoices", "billing.orders"}
    finally:
        settings.write_text(written)


def test_a_plan_and_a_deploy_concern_only_what_the_stack_owns(teams: Teams, cluster: Cluster) -> None:
    before, tmp = state(cluster, "billing."), state(cluster, TMP)
    teams.orders.write({"orders/orders.placed.yaml": "{partitions: 3, replication_factor: 2}\n"})
    report = teams.orders.plan()
    assert [plan.topic for plan in report.topics] == ["orders.placed"]
    assert teams.billing.plan().topics == []
    teams.orders.up()
    done = teams.orders.shell.in_process("rebalance", "--stack", "dev", "--yes")
    assert (done.returncode, "nothing to move: 1 topic" in done.stdout) == (0, True), done.stdout + done.stderr
    assert cluster.snapshot({"orders.placed"}).topics["orders.placed"].topic.partitions == 3
    assert (state(cluster, "billing."), state(cluster, TMP)) == (before, tmp)


def test_an_import_takes_what_is_in_scope_and_adopts_nothing_else(teams: Teams, cluster: Cluster) -> None:
    before = state(cluster, "")
    done = teams.orders.shell.in_process("import", "--stack", "dev")
    assert (done.returncode, "nothing to adopt" in done.stderr) == (0, True), done.stdout + done.stderr
    assert "billing" not in done.stdout + done.stderr
    named = teams.orders.shell.in_process("import", "--stack", "dev", "billing.orders")
    topics = teams.orders.project.topics
    files = [path for path in topics.rglob("*.yaml") if "billing.orders" in path.read_text() + path.name]
    try:
        assert named.returncode == 1, named.stdout + named.stderr
        assert "nothing was adopted, because these topics are outside of the scope of stack dev: billing.orders" in (
            named.stderr
        )
        assert "billing.orders is outside of the stack's scope, orders.*, !orders.tmp.* (stacks/Pulumi.dev.yaml:" in (
            named.stdout
        )
        assert files
    finally:
        for path in files:
            path.unlink()
    assert state(cluster, "") == before


def test_a_declared_topic_outside_the_scope_stops_every_command(teams: Teams, cluster: Cluster) -> None:
    before = state(cluster, "")
    teams.orders.write({"billing.yaml": "{topic: billing.orders, partitions: 1, replication_factor: 2}\n"})
    try:
        assert "billing.yaml:1:9: billing.orders is outside" in teams.orders.refused("up --yes --skip-preview")
        for code, *command in ((2, "audit"), (1, "plan"), (2, "rebalance", "--yes"), (1, "up", "--yes")):
            done = teams.orders.shell.in_process(*map(str, command), "--stack", "dev")
            assert (done.returncode, "billing.orders is outside" in done.stderr) == (code, True), done.stderr
    finally:
        teams.orders.remove("billing.yaml")
    assert state(cluster, "") == before


def test_a_topic_that_left_the_scope_is_never_deleted(teams: Teams, cluster: Cluster) -> None:
    """Its YAML has even allowed the deletion."""
    billing, name = teams.billing, "billing.old"
    settings = billing.project.stacks / "Pulumi.dev.yaml"
    written = settings.read_text()
    billing.write({"billing/billing.old.yaml": "{partitions: 1, replication_factor: 2, allow: [delete]}\n"})
    billing.up()
    billing.remove("billing/billing.old.yaml")
    settings.write_text(written.replace("'billing.*'", "['billing.*', '!billing.old']"))
    try:
        plan = of(billing.plan(), name)
        assert [(each.kind, each.severity) for each in plan.consequences] == [("outside-scope", Severity.REFUSED)]
        assert "outside of the stack's scope" in billing.refused("up --yes --skip-preview")
        urn = next(each["urn"] for each in resources_in_state(billing.shell) if each.get("id") == name)
        billing.pulumi(f"state delete --force --yes {urn}")
        billing.up()
        assert name in cluster.snapshot({name}).topics
    finally:
        settings.write_text(written)


def test_a_scope_that_only_pulumi_knows_is_refused(teams: Teams, tmp_path: Path) -> None:
    other = tmp_path / "Pulumi.other.yaml"
    written = (teams.orders.project.stacks / "Pulumi.dev.yaml").read_text()
    other.write_text(written.replace(", '!orders.tmp.*'", ""))
    assert other.read_text() != written
    reason = "topicwarden:scope in Pulumi's configuration is not the one in stacks/Pulumi.dev.yaml"
    assert reason in teams.orders.refused(f"preview --config-file {other}")


KEPT = "{topic: %s, partitions: 2, replication_factor: 1, owner: a, config: {retention.ms: %s}}\n"


def test_a_plan_for_one_domain_has_only_its_changes(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "shop/kept.yaml": KEPT % ("one.shop.kept", "7d"),
        "shop/gone.yaml": KEPT % ("one.shop.gone", "7d"),
        "other/kept.yaml": KEPT % ("one.other.kept", "7d"),
    }
    deployed = deployment(tmp_path, files)
    before = resources_in_state(deployed.shell)
    deployed.remove("shop/gone.yaml")
    deployed.write(
        {
            "shop/kept.yaml": KEPT % ("one.shop.kept", "1d"),
            "new/added.yaml": KEPT % ("one.shop.added", "7d"),
            "other/kept.yaml": KEPT % ("one.other.kept", "1h"),
            "other/added.yaml": KEPT % ("one.other.added", "7d"),
        }
    )
    report = deployed.plan("one.shop.*")
    assert {plan.topic: plan.action for plan in report.topics} == {
        "one.shop.added": Action.CREATE,
        "one.shop.gone": Action.DELETE,
        "one.shop.kept": Action.UPDATE,
    }
    assert of(report, "one.shop.gone").severity is Severity.REFUSED
    assert report.engine.steps == {"create": 1, "delete": 1, "update": 1}
    assert report.engine.errors == []
    assert "one.shop.*" in report.remarks[-1]
    assert resources_in_state(deployed.shell) == before

    with pytest.raises(Refusal, match=r"no topic, declared or deployed, .* did you mean one\.shop\.\*\?"):
        deployed.plan("one.shpo.*")
