"""Test `topicwarden usage` on a broker that enforces ACLs, with a group that no YAML declares."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support import access_clients
from tests.support.access_clients import TOPIC
from tests.support.clients import commit, until
from tests.support.command import topicwarden
from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import RestrictedCluster, restricted_cluster, rule
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.write.access_admin import create_acls, wait_for_acls
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.model.project import Project
from topicwarden.model.usage_report import UsageReport
from topicwarden.operations import AuditOptions, Refusal, UsageOptions, audit_topics, usage_topics
from topicwarden.toolchain import Toolchain

IDLE = "orders.old.v1"
ORDERS = """\
# The orders of the shop.
partitions: 1
replication_factor: 1
access:
  produce: [{principal: User:orders, transactional_id: orders-, prefix: true}]  # the checkout
allow: [delete]
"""
POLICY = """\
rules: {access-principals: {level: warning, forbid: ['User:nobody']}}
usage: {idle_after: 30d, idle_groups_after: 30d, unused_access_after: 30d}
cost: {currency: EUR, storage_gib_month: 1000000, read_gib: 1}
"""
PERMISSIONS = [rule("Describe", "Topic"), rule("DescribeConfigs", "Topic")]


def acl(user: str, operation: Operation, kind: ResourceType, name: str) -> Acl:
    return Acl(f"User:{user}", "*", operation, PermissionType.ALLOW, kind, name)


ACLS = [
    acl("orders", Operation.WRITE, ResourceType.TOPIC, TOPIC),
    acl("orders", Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "orders-1"),
    acl("billing", Operation.READ, ResourceType.TOPIC, TOPIC),
    acl("billing", Operation.READ, ResourceType.GROUP, "billing"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("usage")) as folder:
        yield folder


@pytest.fixture(scope="module")
def cluster(folder: Path, tools: Toolchain) -> Iterator[RestrictedCluster]:
    """A broker with two topics; `billing` reads one of them, and `orders` writes it in a transaction."""
    sandbox = Sandbox(folder / "broker", tools.java, tools.kafka_jars)
    overrides = {"allow.everyone.if.no.acl.found": "false", **access_clients.user_listener()}
    with ExitStack() as stack:
        cluster = stack.enter_context(restricted_cluster(sandbox, 1, overrides))
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.create_topics([NewTopic(name, 1, 1) for name in (TOPIC, IDLE)])
            assert create_acls(admin, ACLS) == {}
            assert not wait_for_acls(admin, ACLS, exist=True)
        stack.enter_context(access_clients.clients(cluster))
        commit(cluster.servers, "left", {(IDLE, 0): 0})
        yield cluster


@pytest.fixture
def project(cluster: RestrictedCluster, tmp_path: Path) -> Project:
    settings = f"config: {{'kafka:bootstrapServers': [{cluster.servers[0]}], 'kafka:tlsEnabled': false}}\n"
    files = {"shop/orders.v1.yaml": ORDERS, "shop/orders.old.v1.yaml": "partitions: 1\nreplication_factor: 1\n"}
    project = project_of(tmp_path / "project", files, settings)
    project.policies.mkdir(exist_ok=True)
    (project.policies / "house.yaml").write_text(POLICY.partition("\n")[2], encoding="utf-8")
    return project


def reported(project: Project, *patterns: str, history: str | None = "history") -> UsageReport:
    location = None if history is None else history if history == "none" else str(project.root / history)
    return usage_topics(project, "dev", patterns, UsageOptions(history=location))


def test_a_group_without_a_declaration_is_found_with_its_principal(project: Project) -> None:
    report = reported(project)
    topics = {topic.name: topic for topic in report.topics}
    assert set(topics) >= {TOPIC, IDLE}
    orders = topics[TOPIC]
    assert [(user.name, user.declared, user.active, user.members, user.candidates) for user in orders.readers] == [
        ("billing", False, True, 1, ["User:billing"])
    ]
    assert [(user.name, user.declared, user.candidates) for user in orders.writers] == [
        ("orders-1", True, ["User:orders"])
    ]
    assert orders.readers[0].hosts
    assert orders.owner == "" and orders.domain == "shop" and orders.replica_bytes
    assert orders.cost and orders.cost.storage and orders.cost.read is None
    assert [(use.topic, use.name, use.principal, use.entry) for use in report.undeclared if use.access_declared] == [
        (TOPIC, "billing", "User:billing", "{principal: User:billing, group: billing}")
    ]
    assert report.removable == []
    assert any("first observation" in note for note in report.notes)
    assert topics["__consumer_offsets"].declared is False


def test_two_reports_show_movement_and_none_keeps_no_history(cluster: RestrictedCluster, project: Project) -> None:
    reported(project, history="none")
    assert not list(project.root.rglob("use.json.gz"))
    first = reported(project)
    commit(cluster.servers, "left", {(IDLE, 0): 1})
    second = reported(project, IDLE)
    (topic,) = second.topics
    (left,) = topic.readers
    assert left.last and (left.last.after, left.last.until) == (first.taken_at, second.taken_at)
    assert not any("first observation" in note for note in second.notes)
    assert topic.last_read == left.last
    commit(cluster.servers, "left", {(IDLE, 0): 0})


def test_a_damaged_history_is_noted(project: Project) -> None:
    reported(project)
    (part,) = (project.root / "history").rglob("use.json.gz")
    part.write_bytes(gzip.compress(b"{"))
    assert any("damaged" in note for note in reported(project).notes)


def test_what_this_user_may_not_see_is_a_limit(cluster: RestrictedCluster, project: Project) -> None:
    (project.root / "stacks" / "Pulumi.dev.yaml").write_text(cluster.settings, encoding="utf-8")
    with cluster.granted(PERMISSIONS):
        report = reported(project, TOPIC)
    (orders,) = report.topics
    assert (orders.replica_bytes, orders.readers) == (None, [])
    notes = "\n".join(report.notes)
    for part in ("the sizes of the logs", "groups that are not granted one by one", "the ACLs"):
        assert part in notes


def test_unknown_topics_and_stacks_are_refused(project: Project) -> None:
    with pytest.raises(Refusal, match=r"no topic, declared or on the cluster, matches --topics ordres.\*"):
        reported(project, "ordres.*")
    with pytest.raises(Refusal, match="prod"):
        usage_topics(project, "prod")


def test_the_command_prints_writes_and_changes_the_yaml(project: Project, tmp_path: Path) -> None:
    history = ("--history", str(tmp_path / "history"))
    done = topicwarden("usage", "--stack", "dev", *history, "--out", "reports", cwd=project.root)
    assert done.code == 0, done.err
    assert f"undeclared {TOPIC}: group billing reads it" in done.out
    assert {path.name for path in (project.root / "reports").iterdir()} == {
        *("usage.html", "usage.json", "usage.md", "usage.prom")
    }
    file = project.topics / "shop" / "orders.v1.yaml"
    added = "  consume:\n    - {principal: User:billing, group: billing}\n"
    shown = topicwarden(
        "usage", "--stack", "dev", *history, "--topics", TOPIC, "--write", "--dry-run", cwd=project.root
    )
    assert "+    - {principal: User:billing, group: billing}" in shown.out
    assert "1 entry of access: in 1 file, not written" in shown.err
    assert file.read_text(encoding="utf-8") == ORDERS
    written = topicwarden("usage", "--stack", "dev", *history, "--topics", TOPIC, "--write", cwd=project.root)
    assert written.code == 0, written.err
    assert file.read_text(encoding="utf-8") == ORDERS.replace("allow:", f"{added}allow:")
    after = topicwarden("usage", "--stack", "dev", *history, "--topics", TOPIC, "--format", "json", cwd=project.root)
    assert UsageReport.model_validate(json.loads(after.out)).undeclared == []


def test_an_audit_has_the_use_of_its_topics_and_a_page(project: Project, spark: SparkSession) -> None:
    assert spark
    out = project.root / "reports"
    report = audit_topics(project, "dev", (TOPIC,), AuditOptions(str(project.root / "history")), out=str(out))
    assert report.usage
    (orders,) = report.usage.topics
    assert [(user.name, user.declared) for user in orders.readers] == [("billing", False)]
    assert "usage.html" in (out / "report.html").read_text(encoding="utf-8")
    assert "Use of the topics of stack" in (out / "usage.html").read_text(encoding="utf-8")
    # The report continues the history of the audit.
    assert reported(project, TOPIC).observed_since == orders.observed_since


def decision(at: datetime, user: str, operation: str, resource: str, *, allowed: bool = True) -> str:
    acl = (
        f"MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=*, patternType=LITERAL, principal=User:{user}, "
        "host=*, operation=READ, permissionType=ALLOW))"
    )
    level, verdict, rule = ("DEBUG", "Allowed", acl) if allowed else ("INFO", "Denied", "DefaultDeny")
    return (
        f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] {level} Principal = User:{user} is {verdict} "
        f"operation = {operation} from host = 10.0.0.7 on resource = {resource} for request = Fetch "
        f"with resourceRefCount = 1 based on rule {rule} (kafka.authorizer.logger)\n"
    )


def test_authorizer_logs_name_the_principals_that_brokers_do_not(project: Project, spark: SparkSession) -> None:
    assert spark
    hour = datetime.now(UTC) - timedelta(hours=1)
    logs = project.root / "logs"
    (logs / "broker-1").mkdir(parents=True)
    lines = [
        decision(hour, "billing", "READ", "Group:LITERAL:billing"),
        decision(hour, "eve", "READ", f"Topic:LITERAL:{TOPIC}"),
        decision(hour, "mallory", "READ", f"Topic:LITERAL:{TOPIC}", allowed=False),
    ]
    with gzip.open(logs / "broker-1" / "kafka-authorizer.log.2026-11-01-00.gz", "wt", encoding="utf-8") as older:
        older.write(decision(hour - timedelta(days=2), "eve", "READ", f"Topic:LITERAL:{TOPIC}"))
    (logs / "broker-1" / "kafka-authorizer.log").write_text("".join(["the rest of a line\n", *lines]), encoding="utf-8")
    command = ("usage", "--stack", "dev", "--topics", TOPIC, "--history", project.root / "history")
    done = topicwarden(*command, "--authorizer-log", logs, "--format", "json", cwd=project.root)
    assert done.code == 0, done.err
    report = UsageReport.model_validate(json.loads(done.out))
    (orders,) = report.topics
    readers = {user.name: user for user in orders.readers}
    assert set(readers) == {"billing", "User:eve"}, "nobody who was denied is a reader"
    assert readers["billing"].candidates == ["User:billing"]
    assert readers["User:eve"].hosts == ["10.0.0.7"]
    assert readers["User:eve"].last and readers["User:eve"].last.until == int(hour.timestamp() * 1000)
    assert {(use.name, use.principal) for use in report.undeclared} == {
        ("billing", "User:billing"),
        ("User:eve", "User:eve"),
    }
    (coverage,) = report.logs
    assert (coverage.broker, coverage.lines, coverage.unreadable) == ("broker-1", 5, 1)
    shown = topicwarden(*command, "--authorizer-log", logs, cwd=project.root)
    assert f"undeclared {TOPIC}: principal User:eve reads it" in shown.out
    missing = topicwarden(*command, "--authorizer-log", project.root / "no such folder", cwd=project.root)
    assert (missing.code, missing.out) == (2, "")
    assert "no such folder" in missing.err.splitlines()[-1]
    assert "Traceback" not in missing.err


def test_an_unreachable_broker_is_one_line(project: Project) -> None:
    settings = "config: {'kafka:bootstrapServers': ['localhost:1'], 'kafka:tlsEnabled': false}\n"
    (project.root / "stacks" / "Pulumi.dev.yaml").write_text(settings, encoding="utf-8")
    done = topicwarden("usage", "--stack", "dev", cwd=project.root)
    assert (done.code, done.err.count("\n")) == (2, 1)
    shutil.rmtree(project.root)


def test_no_group_is_left_behind(cluster: RestrictedCluster, project: Project) -> None:
    """The report commits nothing and joins no group."""
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        before = {group["group_id"] for group in admin.list_groups()}
        reported(project)
        until(lambda: {group["group_id"] for group in admin.list_groups()} == before, "groups are as before", 10)
