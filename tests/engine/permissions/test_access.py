"""Take each permission on access from an audit and an import, and compare what they say with the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.engine.permissions.scenes import declared, rules
from tests.support.command import topicwarden
from tests.support.projects import project_of
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.audit.access_checks import ACCESS_CHECKS
from topicwarden.kafka.write.access_admin import create_acls, delete_acls, wait_for_acls
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.operations.doctor.command_permissions import ACCESS, COMMANDS, RequiredPermission
from topicwarden.operations.operation_options import AuditOptions

TOPIC = "a.access.v1"
READ = Acl("User:billing", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, TOPIC)
CHECKS_OF_USE = ("undeclared-consumer", "undeclared-producer")
ACCESS_FILE = """\
users:
  nobody: {mechanism: SCRAM-SHA-512, password: {secret: nobody-password, version: 1}}
quotas:
  - {user: billing, producer_byte_rate: 1MiB}
group_configs:
  billing: {consumer.session.timeout.ms: 50s}
client_metrics:
  producers: {interval.ms: 30s}
"""


@pytest.fixture(scope="module")
def project(cluster: RestrictedCluster, folder: Path) -> Iterator[Project]:
    """Return a project whose topic has one of the two ACLs that its YAML declares."""
    more = "access: {consume: [{principal: 'User:billing', group: billing}]}"
    project = project_of(folder / "access", {f"{TOPIC}.yaml": declared(more=more)}, cluster.settings)
    project.access.mkdir(exist_ok=True)
    (project.access / "rest.yaml").write_text(ACCESS_FILE, encoding="utf-8")
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        assert create_acls(admin, [READ]) == {}
        assert not wait_for_acls(admin, [READ], exist=True)
        yield project
        assert delete_acls(admin, [READ]) == {}
        admin.delete_topics([TOPIC])


@pytest.fixture(scope="module")
def audit(cluster: RestrictedCluster, project: Project, spark: SparkSession) -> Iterator[AuditFunction]:
    with cluster.granted([rule("Describe", "Topic")]), auditing(project, "dev", options=AuditOptions("none")) as audit:
        yield audit


def undecidable(report: AuditReport) -> dict[str, str]:
    """Return the checks of access and of its use that could not be decided, with their messages."""
    return {
        each.check: f"{each.message} {each.remedy}"
        for each in report.findings
        if each.check in (*ACCESS_CHECKS, *CHECKS_OF_USE) and each.verdict is Verdict.UNDECIDABLE
    }


@pytest.mark.parametrize("without", [None, *ACCESS["audit"]], ids=lambda each: str(each and each.permission))
def test_an_audit_cannot_decide_what_the_table_says(
    cluster: RestrictedCluster, audit: AuditFunction, without: RequiredPermission | None
) -> None:
    with cluster.granted(rules((*COMMANDS["audit"], *ACCESS["audit"]), without)):
        report = audit(())
    found = undecidable(report)
    affected = {*without.affected} if without else set()
    assert found.keys() == affected
    assert all(str(without and without.permission.operation) in found[check] for check in affected)
    drifts = [each for each in report.findings if each.check == "acl-drift" and each.verdict is Verdict.FAIL]
    if without and "acl-drift" in without.affected:
        assert drifts == []
    else:
        (drift,) = drifts
        assert drift.topic == TOPIC
        assert drift.message == (
            f"consume of {TOPIC}: declared, but not on the cluster: Allow Read on Group billing for User:billing"
        )
        assert str(drift.location).startswith(f"topics/{TOPIC}.yaml:1:")


@pytest.mark.parametrize("without", [None, *ACCESS["import"]], ids=lambda each: str(each and each.permission))
def test_an_import_leaves_out_what_the_table_says(
    cluster: RestrictedCluster, project: Project, folder: Path, without: RequiredPermission | None
) -> None:
    assert project.access.exists()  # the topic and its ACL are on the cluster
    empty = project_of(folder / f"import-{without and without.permission.operation}", {}, cluster.settings)
    with cluster.granted(rules((*COMMANDS["import"], *ACCESS["import"]), without)):
        arguments = ("import", "--stack", "dev", "--access", "--files-only", "--dry-run")
        done = topicwarden(*arguments, cwd=empty.root)
    imported = "- User:billing" in done.out
    assert imported is not bool(without and without.permission.operation == "Describe")
    assert ("lacks" in done.err + done.out) is bool(without and without.permission.resource == "Cluster"), done.err
