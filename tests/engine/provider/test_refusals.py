"""Test deploys that a real cluster partly refuses: everything else is deployed, and the next run continues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType

from tests.engine.provider.kills import KillableStack, killable_cluster, killable_stack
from tests.support.restricted_user import AUTHORIZER, grant
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.write.config_admin import connected
from topicwarden.kafka.write.quota_admin import QuotaEntity, alter_quotas
from topicwarden.toolchain import Toolchain

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
    everybody = QuotaEntity("user", None)
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
