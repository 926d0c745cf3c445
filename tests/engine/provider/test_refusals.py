"""Test deploys that end early: a cluster refuses some topics, or the deploy is killed; the next run continues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from tests.support.killed_deploys import KillableStack, kill_one_deploy, killable_cluster, killable_stack
from tests.support.restricted_user import AUTHORIZER, grant
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.write.config_admin import connected
from topicwarden.kafka.write.quota_admin import alter_quotas
from topicwarden.toolchain import Toolchain

# Deploys that a real cluster partly refuses: everything else is deployed, and the next run continues.

SEEN = (ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS)
NUMBER = 30


@pytest.fixture(scope="module")
def folder(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with killable_cluster(tmp_path_factory.mktemp("refusals"), AUTHORIZER) as folder:
        yield folder


def test_allowed_topics_are_created_and_each_refusal_is_reported_once(folder: Path) -> None:
    stack = killable_stack(folder, "half")
    names = {kind: [f"half.{kind}{number:02}.v1" for number in range(NUMBER)] for kind in ("good", "bad")}
    declare(stack, [*names["good"], *names["bad"]])
    with connected(servers_of(stack)) as admin:
        grant(admin, ResourceType.CLUSTER, "kafka-cluster", [*SEEN, ACLOperation.ALTER, ACLOperation.ALTER_CONFIGS])
        grant_prefix(admin, "half.bad", SEEN)
    refused = stack.up()
    assert refused.returncode == 1
    assert set(stack.live()) == {*names["good"]}
    assert stack.in_state() == {*names["good"]}
    _, _, diagnostics = refused.stdout.partition("Diagnostics:")
    for name in names["bad"]:
        (line,) = (line for line in diagnostics.splitlines() if f"{name}: Kafka denies this user the change" in line)
        assert "topics/all.yaml:" in line
        assert line.endswith("grant Create on the topic")
    with connected(servers_of(stack)) as admin:
        grant_prefix(admin, "half.bad", [ACLOperation.CREATE])
    assert stack.up().returncode == 0
    assert set(stack.live()) == stack.in_state() == {*names["good"], *names["bad"]}


def test_a_controller_mutation_quota_delays_a_deploy_without_failing_it(folder: Path) -> None:
    """The quota is ``controller_mutation_rate`` (KIP-599), and allows a burst of eleven seconds at first."""
    stack = killable_stack(folder, "quota")
    names = [f"quota.t{number:02}.v1" for number in range(NUMBER)]
    declare(stack, names, partitions=2)
    everybody = (("user", None),)
    with connected(servers_of(stack)) as admin:
        assert not alter_quotas(admin, {everybody: {"controller_mutation_rate": 2.0}})
    try:
        done = stack.up()
    finally:
        with connected(servers_of(stack)) as admin:
            alter_quotas(admin, {everybody: {"controller_mutation_rate": None}})
    assert done.returncode == 0, done.stdout
    assert "Kafka's quota for changes of topics is used up" in done.stdout
    assert set(stack.live()) == {*names}


def servers_of(stack: KillableStack) -> list[str]:
    return list(connect_to(stack.project, "dev").bootstrap_servers)


def declare(stack: KillableStack, names: Iterable[str], partitions: int = 1) -> None:
    documents = [f"{{topic: {name}, owner: team, partitions: {partitions}, replication_factor: 1}}\n" for name in names]
    (stack.project.topics / "all.yaml").write_text("---\n".join(documents), encoding="utf-8")


def grant_prefix(admin: KafkaAdminClient, prefix: str, operations: Iterable[ACLOperation]) -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, prefix, ACLResourcePatternType.PREFIXED)
    admin.create_acls([ACL("User:ANONYMOUS", "*", each, ACLPermissionType.ALLOW, pattern) for each in operations])


# Test that a deploy that was killed is repaired by the same command. ``kills.py`` kills many more.


@pytest.fixture(scope="module")
def cluster(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with killable_cluster(tmp_path_factory.mktemp("kills")) as folder:
        yield folder


@pytest.mark.nightly(
    "The suite keeps a creation and a deletion whose engine is killed.",
    stays=("create-engine-1.5", "delete-engine-2.0"),
)
@pytest.mark.parametrize(
    ("change", "process", "after_s"),
    [("create", "engine", 1.5), ("create", "command", 1.8), ("update", "command", 1.6), ("delete", "engine", 2.0)],
)
def test_the_same_command_repairs_a_killed_deploy(cluster: Path, change: str, process: str, after_s: float) -> None:
    result = kill_one_deploy(killable_stack(cluster, f"{change}{process}"), change, process, after_s)
    assert result.converged, (result, result.output)


def test_an_undeclared_topic_of_a_killed_deploy_is_named(cluster: Path) -> None:
    """The engine is killed after the topics were created, and before it wrote the state."""
    stack = killable_stack(cluster, "orphan")
    stack.deploy(0, 1)
    stack.deploy(1, 1_000_000)
    # The state of the first deploy, and the record of the second: what a kill leaves behind.
    assert stack.shell.run("pulumi", "state", "unprotect", "--yes", "--all", "--stack", "dev").returncode == 0
    urn = "urn:pulumi:dev::topicwarden::topicwarden:index:TopicSet$topicwarden:index:Domain$kafka:index/topic:Topic"
    removed = stack.shell.run("pulumi", "state", "delete", "--yes", "--stack", "dev", f"{urn}::orphan.t0.v1")
    assert removed.returncode == 0, removed.stderr
    stack.declare(0, 1)
    refused = stack.up()
    assert refused.returncode == 1
    assert "orphan.t0.v1: a deploy that was killed created this" in refused.stdout
    stack.deploy(1, 1_000_000)
    assert "orphan.t0.v1" in stack.in_state()


def test_a_deploy_after_a_complete_deletion_does_not_refresh(cluster: Path) -> None:
    stack = killable_stack(cluster, "complete")
    stack.deploy(1, 1_000_000)
    stack.deploy(0, 1)
    assert stack.in_state() == {"complete.keep.v1"}
    after = stack.up()
    assert after.returncode == 0
    assert "a deploy was killed" not in after.stdout + after.stderr
