"""Test that a plan names the clients of a real cluster that a change of access stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.access_clients import TOPIC, clients, commit_without_members, user_listener
from tests.support.access_parts import declared_access, deployed_access
from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import PASSWORD, USER, RestrictedCluster, restricted_cluster, rule
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.write.access_admin import create_acls, wait_for_acls
from topicwarden.model.access import (
    AccessKey,
    AccessSource,
    Acl,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.predict import predict, refusals
from topicwarden.policies.check_specs import check
from topicwarden.specs.resolve import Declaration
from topicwarden.toolchain import Toolchain


def allow(user: str, operation: Operation, kind: ResourceType, name: str, *, prefix: bool = False) -> Acl:
    pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
    return Acl(f"User:{user}", "*", operation, PermissionType.ALLOW, kind, name, pattern)


READ_TOPIC = allow("billing", Operation.READ, ResourceType.TOPIC, TOPIC)
READ_GROUP = allow("billing", Operation.READ, ResourceType.GROUP, "billing")
WRITE_TOPIC = allow("orders", Operation.WRITE, ResourceType.TOPIC, TOPIC)
WRITE_ID = allow("orders", Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "orders-", prefix=True)
OF_APPLICATIONS = frozenset({READ_TOPIC, READ_GROUP, WRITE_TOPIC, WRITE_ID})
SEES_CLUSTER = rule("Describe", "Cluster", "kafka-cluster")
OF_USER = (
    SEES_CLUSTER,
    rule("DescribeConfigs", "Cluster", "kafka-cluster"),
    rule("Read", "Topic"),
    rule("DescribeConfigs", "Topic"),
    rule("Describe", "Group"),
    rule("Describe", "TransactionalId"),
)


@pytest.fixture(scope="module")
def restricted(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestrictedCluster]:
    """A broker with a topic that a group of User:billing reads, and a transaction of User:orders writes."""
    with own_cache(tmp_path_factory.mktemp("plans")) as folder:
        sandbox = Sandbox(folder / "plans", tools.java, tools.kafka_jars)
        with restricted_cluster(sandbox, 1, user_listener()) as cluster:
            with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
                admin.create_topics([NewTopic(TOPIC, num_partitions=1, replication_factor=1)])
                assert create_acls(admin, OF_APPLICATIONS) == {}
                assert not wait_for_acls(admin, OF_APPLICATIONS, exist=True)
            with clients(cluster):
                yield cluster


@contextmanager
def connected(cluster: RestrictedCluster) -> Iterator[Cluster]:
    """Connect as the user that deploys."""
    servers = tuple(cluster.user_servers)
    with open_cluster(
        Connection(servers, tls=False, sasl_mechanism="PLAIN", username=USER, password=PASSWORD)
    ) as opened:
        yield opened


def declared(folder: Path, *, allow: str = "") -> tuple[Declaration, ...]:
    text = f"{{owner: team, partitions: 1, replication_factor: 1{allow}}}\n"
    return tuple(check(project_of(folder, {f"{TOPIC}.yaml": text}), ["dev"]).declarations["dev"])


def revoked(cluster: Cluster, declarations: tuple[Declaration, ...]) -> tuple[list[Consequence], list[str]]:
    """Return the consequences of revoking everything from the applications, and the refusals of a deploy."""
    homes: dict[AccessKey, tuple[str, ...]] = dict.fromkeys(OF_APPLICATIONS, (TOPIC,))
    deployed = DeployedStack(access=deployed_access(OF_APPLICATIONS, homes=homes))
    prediction = predict(cluster, cluster.snapshot([TOPIC], [TOPIC]), declarations, deployed, access=DeclaredAccess())
    assert prediction.access is not None
    of_access = [problem for problem in refusals(prediction) if problem.message.startswith("access: ")]
    return prediction.access.plan.consequences, [problem.message for problem in of_access]


def test_a_plan_names_the_group_and_the_transaction_that_lose_access(
    restricted: RestrictedCluster, tmp_path: Path
) -> None:
    with restricted.granted(OF_USER), connected(restricted) as cluster:
        until(lambda: any(group.assigned for group in cluster.groups([TOPIC])), "the group has joined")
        consequences, refused = revoked(cluster, declared(tmp_path))
        group, producer = consequences
        assert [group.kind, producer.kind] == ["access-lost", "access-lost"]
        assert group.message == (
            f"revoking Read on Topic {TOPIC}, Group billing from User:billing stops group billing: "
            "active, 1 member, lag 2"  # the marker of the first transaction has an offset as well
        )
        assert "its members connect from 127.0.0.1" in group.because
        assert producer.message.startswith(
            f"revoking Write on Topic {TOPIC}, TransactionalId orders-1 from User:orders stops the producer with the "
            "transactional id orders-1: in a transaction since "
        )
        assert f"last wrote to {TOPIC} at " in producer.message
        assert len(refused) == 2
        assert refused[0].startswith(f"access: {group.message}; the deploy deletes `{READ_GROUP}`")
        assert refused[0].endswith(f"write {AllowedChange.REVOKE_ACCESS.line} into the YAML of {TOPIC}")

        allowed, refused = revoked(cluster, declared(tmp_path / "allowed", allow=", allow: [revoke-access]"))
        assert [each.severity for each in allowed] == [Severity.DANGER, Severity.DANGER]
        assert refused == []


def test_hidden_groups_transactions_and_producers_count_as_losing_access(
    restricted: RestrictedCluster, tmp_path: Path
) -> None:
    rules = (SEES_CLUSTER, rule("Describe", "Topic"), rule("DescribeConfigs", "Topic"))
    with restricted.granted(rules), connected(restricted) as cluster:
        consequences, refused = revoked(cluster, declared(tmp_path))
    assert {each.severity for each in consequences} == {Severity.REFUSED}
    reasons = {reason for each in consequences for reason in each.because}
    assert "this user may not describe all consumer groups (Describe on Group)" in reasons
    assert any("may not describe all transactional ids (Describe on TransactionalId)" in reason for reason in reasons)
    assert any("the producers could not be read (Read on the topic)" in each.message for each in consequences)
    assert len(refused) == len(consequences)


def test_without_describe_on_the_cluster_no_change_of_access_is_deployed(
    restricted: RestrictedCluster, tmp_path: Path
) -> None:
    with restricted.granted(OF_USER[1:]), connected(restricted) as cluster:
        (unseen,), (refused,) = revoked(cluster, declared(tmp_path))
    assert (unseen.kind, unseen.severity) == ("access-unseen", Severity.REFUSED)
    assert "4 changes of ACLs cannot be judged: this user lacks Describe on the Cluster resource" in refused


def test_the_user_that_deploys_does_not_lock_itself_out(restricted: RestrictedCluster, tmp_path: Path) -> None:
    with restricted.granted(OF_USER), connected(restricted) as cluster:
        stack = DeployedStack(access=deployed_access(frozenset({SEES_CLUSTER})))
        found = predict(cluster, cluster.snapshot([TOPIC], [TOPIC]), declared(tmp_path), stack)
    assert found.access is not None
    (lockout,) = [each for each in found.access.plan.consequences if each.kind == "self-lockout"]
    assert lockout.severity is Severity.REFUSED
    assert lockout.message == f"User:{USER}, as which this stack connects, loses Describe on Cluster"


def test_a_consumer_with_assign_is_a_client_and_a_deny_of_describe_stops_it(
    restricted: RestrictedCluster, tmp_path: Path
) -> None:
    granted = allow("billing", Operation.READ, ResourceType.GROUP, "replay")
    denied = replace(granted, operation=Operation.DESCRIBE, permission=PermissionType.DENY)
    with KafkaAdminClient(bootstrap_servers=restricted.servers) as admin:

        def create(acl: Acl) -> None:
            assert create_acls(admin, [acl]) == {}
            assert not wait_for_acls(admin, [acl], exist=True)

        create(granted)
        commit_without_members(restricted, "billing", "replay")
        with restricted.granted(OF_USER), connected(restricted) as cluster:
            snapshot, topics = cluster.snapshot([TOPIC], [TOPIC]), declared(tmp_path)
            deployed = DeployedStack(access=deployed_access(frozenset({granted}), homes={granted: (TOPIC,)}))
            source = (AccessSource(Location("access/a.yaml"), "acls"),)
            found = [
                predict(cluster, snapshot, topics, deployed, access=DeclaredAccess()).access,
                predict(cluster, snapshot, topics, DeployedStack(), access=declared_access({denied: source})).access,
            ]
        consequences = [each for prediction in found if prediction for each in prediction.plan.consequences]
        assert [(each.kind, each.severity) for each in consequences] == [("access-lost", Severity.REFUSED)] * 2
        state = "from User:billing stops group replay: no members now, and committed offsets that brokers still keep"
        assert consequences[0].message == f"revoking Read on Group replay {state}"
        assert consequences[1].message.startswith(
            "denying Describe on Group replay to User:billing stops group replay:"
        )
        create(denied)
        with pytest.raises(KafkaException, match=r"GROUP_AUTHORIZATION_FAILED|_WAIT_COORD"):
            commit_without_members(restricted, "billing", "replay")
