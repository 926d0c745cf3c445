"""Test that `topicwarden doctor` finds exactly the permissions that a user lacks on a real cluster, and changes
nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.engine.permissions.scenes import declared, rules
from tests.support.clients import commit
from tests.support.command import topicwarden
from tests.support.projects import project_of
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.model.diagnosis import Diagnosis, Possession
from topicwarden.model.project import Project
from topicwarden.operations.doctor.command_permissions import (
    COMMANDS,
    COMMIT_OFFSETS,
    SEE_TOPICS,
    SEE_TRANSACTIONS,
    USE_TRANSACTIONS,
    WRITE_RECORDS,
    RequiredPermission,
)

UP = COMMANDS["up"]
EVERY = tuple({str(each.permission): each for permissions in COMMANDS.values() for each in permissions}.values())
"""Each permission that any command needs, once."""
UNTESTABLE = (SEE_TRANSACTIONS, USE_TRANSACTIONS, COMMIT_OFFSETS, WRITE_RECORDS)
"""Permissions that no request reports, or that only the unknown topic of --to needs."""


@pytest.fixture(scope="module")
def project(cluster: RestrictedCluster, folder: Path) -> Project:
    """Return a project with three topics: one exists, one exists and may be deleted, one does not exist."""
    files = {
        "d.kept.v1.yaml": declared(),
        "d.gone.v1.yaml": declared(more="allow: [delete]"),
        "d.new.v1.yaml": declared(),
    }
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in ("d.kept.v1", "d.gone.v1")])
    commit(cluster.servers, "d.reader", {("d.kept.v1", 0): 0})
    return project_of(folder / "doctor", files, cluster.settings)


def diagnosis(project: Project, *arguments: str) -> tuple[int, Diagnosis]:
    done = topicwarden("doctor", "--stack", "dev", "--format", "json", *arguments, cwd=project.root)
    assert done.err == ""
    return done.code, Diagnosis.model_validate_json(done.out)


def missing(report: Diagnosis) -> set[str]:
    return {each.permission for each in report.permissions if each.state is Possession.MISSING}


@pytest.mark.nightly(
    "The suite keeps a permission on each type of resource, and one that no request reports.",
    stays=(
        *("None", "Describe on Topic", "AlterConfigs on Topic", "Describe on Cluster", "Describe on Group"),
        "Describe on TransactionalId",
    ),
)
@pytest.mark.parametrize("without", [None, *EVERY], ids=lambda each: str(each and each.permission))
def test_only_the_missing_permission_is_named(
    cluster: RestrictedCluster, project: Project, without: RequiredPermission | None
) -> None:
    with cluster.granted(rules(EVERY, without)):
        _, report = diagnosis(project)
    # Of topics that the user cannot see, only a trial without effect shows that they could be created.
    untestable = without is not None and without.permission in UNTESTABLE
    assert missing(report) == ({str(without.permission)} if without and not untestable else set())
    limited = {each.command for each in report.commands if each.ability == "limited"}
    assert limited == {
        name
        for name, permissions in COMMANDS.items()
        if without and not untestable and without.permission in {r.permission for r in permissions}
    }
    untested = {each.permission for each in report.permissions if each.state is Possession.UNTESTED}
    hides = without is not None and without.permission == SEE_TOPICS
    others = untested - set(map(str, UNTESTABLE))
    assert untested - others == set(map(str, UNTESTABLE))
    assert {permission.partition(" on ")[2] for permission in others} == ({"Topic"} if hides else set())


@pytest.mark.nightly("The suite keeps the commands that write and that read records.", stays=("up", "audit"))
@pytest.mark.parametrize("command", COMMANDS)
def test_the_permissions_on_the_page_are_enough_for_their_command(
    cluster: RestrictedCluster, project: Project, command: str
) -> None:
    with cluster.granted(rules(COMMANDS[command], None)):
        code, report = diagnosis(project, "--command", command)
    assert (code, missing(report)) == (0, set())


def test_without_permissions_each_is_missing_or_untested(cluster: RestrictedCluster, project: Project) -> None:
    with cluster.granted([]):
        code, report = diagnosis(project)
    assert code == 1
    assert Possession.GRANTED not in {each.state for each in report.permissions}
    assert {each.permission for each in report.permissions if each.state is Possession.UNTESTED} <= {
        str(each.permission) for each in EVERY if each.permission.resource != "Cluster"
    }


def test_permissions_on_a_prefix_apply_to_its_topics(cluster: RestrictedCluster, project: Project) -> None:
    granted = [
        rule(each.permission.operation, "Topic", "d.", pattern="Prefixed")
        for each in UP
        if each.permission.resource == "Topic"
    ]
    others = [each for each in rules(UP, None) if each.resource_type != "Topic"]
    with cluster.granted([*granted, *others]):
        code, report = diagnosis(project, "--command", "up")
    assert (code, missing(report)) == (0, set())
    assert report.cluster and report.cluster.topics == 2


def test_permissions_on_topics_outside_of_the_scope_do_not_count(
    cluster: RestrictedCluster, project: Project, folder: Path
) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        admin.create_topics([NewTopic("e.other.v1", 1, 1)])
    files = {"d.kept.v1.yaml": declared()}
    settings = cluster.settings.rstrip()[:-1] + ", 'topicwarden:scope': {topics: ['d.*']}}\n"
    scoped = project_of(folder / "scoped", files, settings)
    of_audit = [each for each in COMMANDS["audit"] if each.permission.resource == "Topic"]
    granted = [rule(each.permission.operation, "Topic", "d.", pattern="Prefixed") for each in of_audit]
    others = [each for each in rules(COMMANDS["audit"], None) if each.resource_type != "Topic"]
    try:
        with cluster.granted([*granted, *others, rule("Describe", "Topic", "e.other.v1")]):
            assert diagnosis(scoped, "--command", "audit")[0] == 0
            assert diagnosis(project, "--command", "audit")[0] == 1
    finally:
        with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
            admin.delete_topics(["e.other.v1"])


def test_doctor_changes_nothing(cluster: RestrictedCluster, project: Project) -> None:
    for granted in ([], rules(EVERY, None)):
        with cluster.granted(granted):
            before = everything(cluster)
            topicwarden("doctor", "--stack", "dev", cwd=project.root)
            assert everything(cluster) == before


def everything(cluster: RestrictedCluster) -> object:
    """Return topics with replicas and settings, the brokers' settings, groups, and reassignments."""
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        topics = admin.describe_topics()
        resources = [
            *(ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in topics),
            *(ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in (1, 2)),
        ]
        replicas = {topic["name"]: [each["replica_nodes"] for each in topic["partitions"]] for topic in topics}
        groups = sorted(str(group["group_id"]) for group in admin.list_groups())
        return (
            replicas,
            admin.describe_configs(resources, config_filter="all"),
            groups,
            admin.list_partition_reassignments(),
        )


def test_the_cluster_facts_come_from_its_brokers(cluster: RestrictedCluster, project: Project) -> None:
    with cluster.granted([]):
        _, report = diagnosis(project)
    assert report.cluster and (report.cluster.mode, report.cluster.brokers) == ("KRaft", 2)
    assert report.cluster.kafka == "4.1"
    assert report.missing_apis == []
