"""Read ACLs, quotas, users, settings of groups and of the authorizer, with and without permissions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest, IncrementalAlterConfigsRequest

from tests.support.restricted_user import PASSWORD, USER, RestrictedCluster, restricted_cluster, rule
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.write.access_admin import Credential, Password, create_acls, wait_for_acls, write_credentials
from topicwarden.model.access import (
    Acl,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.toolchain import Toolchain

QUOTAS = {
    (("user", "a"),): {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0},
    (("user", None),): {"request_percentage": 50.5},
    (("client-id", "c"),): {"controller_mutation_rate": 5.0},
    (("client-id", None),): {"producer_byte_rate": 1.0},
    (("client-id", "c"), ("user", "a")): {"producer_byte_rate": 2.0},
    (("client-id", None), ("user", "a")): {"producer_byte_rate": 3.0},
    (("client-id", "c"), ("user", None)): {"producer_byte_rate": 4.0},
    (("client-id", None), ("user", None)): {"producer_byte_rate": 5.0},
    (("ip", "127.0.0.9"),): {"connection_creation_rate": 6.0},
    (("ip", None),): {"connection_creation_rate": 7.0},
}
USERS = [("alice", "SCRAM-SHA-256", 4096), ("alice", "SCRAM-SHA-512", 8192), ("bob", "SCRAM-SHA-512", 5000)]
ACLS = frozenset(
    Acl("User:CN=a,OU=b|c", host, Operation.DESCRIBE, permission, kind, name, pattern)
    for (kind, name), permission, host, pattern in product(
        [
            (ResourceType.TOPIC, "orders"),
            (ResourceType.GROUP, "billing"),
            (ResourceType.TRANSACTIONAL_ID, "tx-"),
            (ResourceType.DELEGATION_TOKEN, "token"),
        ],
        PermissionType,
        ["*", "10.0.0.7"],
        PatternType,
    )
) | {
    Acl("User:a", "*", Operation.TWO_PHASE_COMMIT, PermissionType.ALLOW, ResourceType.TRANSACTIONAL_ID, "tx"),
    Acl("User:a", "*", Operation.CREATE_TOKENS, PermissionType.ALLOW, ResourceType.USER, "User:b"),
}
FREE = [rule("Describe", "Cluster", "kafka-cluster"), rule("DescribeConfigs", "Cluster", "kafka-cluster")]
GROUPS = [rule("DescribeConfigs", "Group", "*")]


@pytest.fixture(scope="module")
def cluster(closed: RestrictedCluster) -> RestrictedCluster:
    """The cluster with ACLs, quotas, users and settings of a group."""
    with KafkaAdminClient(bootstrap_servers=closed.servers) as admin:
        write_everything(admin)
    until(lambda: len(as_super_user(closed).users or ()) == len(USERS))
    return closed


def write_everything(admin: KafkaAdminClient) -> None:
    assert create_acls(admin, ACLS) == {}
    assert not wait_for_acls(admin, ACLS, exist=True)
    entry = AlterClientQuotasRequest.EntryData
    entries = [
        entry(
            entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            ops=[entry.OpData(key=key, value=value, remove=False) for key, value in values.items()],
        )
        for entity, values in QUOTAS.items()
    ]
    answer = send_to_any_broker(admin, AlterClientQuotasRequest(entries=entries, validate_only=False))
    assert {each.error_code for each in answer.entries} == {0}
    set_group(admin, "billing", {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "earliest"})
    for user, mechanism, iterations in USERS:
        assert not write_credentials(admin, {Credential(user, mechanism): Password("secret", iterations)})


def set_group(admin: KafkaAdminClient, group: str, settings: Mapping[str, str]) -> None:
    resources = [(32, group, [(name, 0, value) for name, value in settings.items()])]
    answer = send_to_any_broker(admin, IncrementalAlterConfigsRequest(resources=resources, validate_only=False))
    assert answer.responses[0].error_code == 0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def as_super_user(cluster: RestrictedCluster) -> LiveAccess:
    with open_cluster(Connection(tuple(cluster.servers), tls=False)) as opened:
        return opened.access()


def as_user(cluster: RestrictedCluster) -> LiveAccess:
    with open_cluster(
        Connection(tuple(cluster.user_servers), tls=False, sasl_mechanism="PLAIN", username=USER, password=PASSWORD)
    ) as opened:
        return opened.access(["reports"])


def test_every_part_of_the_access_is_read(cluster: RestrictedCluster) -> None:
    access = as_super_user(cluster)
    assert access.acls == ACLS
    assert access.unknown_acls == 0
    assert access.quotas == QUOTAS
    assert access.users == {(user, name): ScramUser(user, name, number) for user, name, number in USERS}
    assert access.group_configs == {
        "billing": {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "earliest"}
    }


def test_hidden_values_of_the_authorizer_are_not_guessed_for_a_super_user(cluster: RestrictedCluster) -> None:
    access = as_super_user(cluster)
    (settings,) = (access.settings or {}).values()
    assert settings.class_name == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert (settings.super_users, settings.open_without_acl) == (None, None)
    assert access.missing.keys() == {"super_users", "open_without_acl"}


def test_each_part_that_is_denied_is_missing_with_its_permission(cluster: RestrictedCluster) -> None:
    access = as_user(cluster)
    assert access.missing == {
        "acls": "this user lacks Describe on the Cluster resource",
        "quotas": "this user lacks DescribeConfigs on the Cluster resource",
        "users": "this user lacks Describe on the Cluster resource",
        "group_configs": "this user lacks DescribeConfigs on the group reports",
        "client_metrics": "this user lacks DescribeConfigs on the Cluster resource",
        "authorizer": "this user lacks DescribeConfigs on the Cluster resource",
    }
    assert (access.acls, access.quotas, access.users, access.settings) == (None, None, None, None)
    assert access.group_configs == {}


def test_a_denied_part_leaves_the_others(cluster: RestrictedCluster) -> None:
    with cluster.granted(FREE[:1]):
        access = as_user(cluster)
    assert access.acls == ACLS | {FREE[0]}
    assert access.quotas is None


def test_a_user_without_permissions_proves_that_resources_are_closed(cluster: RestrictedCluster) -> None:
    with cluster.granted([*FREE, *GROUPS]):
        access = as_user(cluster)
    (settings,) = (access.settings or {}).values()
    assert settings.open_without_acl is False
    assert access.missing.keys() == {"super_users"}
    assert access.group_configs is not None
    assert access.group_configs.keys() == {"billing", "reports"}


def test_a_user_proves_that_resources_without_acls_are_open(tmp_path: Path, tools: Toolchain) -> None:
    sandbox = Sandbox(tmp_path / "open", tools.java, tools.kafka_jars)
    with restricted_cluster(sandbox, 1, {"allow.everyone.if.no.acl.found": "true"}) as cluster:
        assert unproven(as_user(cluster)) == [None]  # no ACL tells this user from a super user
        with cluster.granted(FREE):
            assert unproven(as_user(cluster)) == [True]
        everywhere = rule("Describe", "Topic")
        with cluster.granted([*FREE, everywhere]):
            assert unproven(as_user(cluster)) == [True]
        with cluster.granted([*FREE, everywhere, rule("Describe", "Group")]):
            assert unproven(as_user(cluster)) == [None]  # no resource is left that has no ACL


def unproven(access: LiveAccess) -> list[bool | None]:
    return [settings.open_without_acl for settings in (access.settings or {}).values()]
