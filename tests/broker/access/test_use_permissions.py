"""Test that the use of topics names each missing permission."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.clients import commit
from tests.support.restricted_user import PASSWORD, USER, RestrictedCluster, rule
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.model.access import Acl

TOPICS = [rule("Describe", "Topic"), rule("DescribeConfigs", "Topic")]
CLUSTER, GROUPS = rule("Describe", "Cluster", "kafka-cluster"), rule("Describe", "Group")
READ, IDS = rule("Read", "Topic"), rule("Describe", "TransactionalId")
READ_ORDERS = rule("Read", "Topic", "orders")


@pytest.fixture(scope="module")
def used(closed: RestrictedCluster) -> Iterator[RestrictedCluster]:
    """The cluster with two topics: a group has committed offsets for one of them, and a transaction has written it."""
    with KafkaAdminClient(bootstrap_servers=closed.servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in ("orders", "payments")])
    commit(closed.servers, "billing", {("orders", 0): 0})
    producer = Producer({"bootstrap.servers": ",".join(closed.servers), "transactional.id": "orders-1"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("orders", b"value")
    producer.commit_transaction(60)
    yield closed
    with KafkaAdminClient(bootstrap_servers=closed.servers) as admin:
        admin.delete_topics(["orders", "payments"])


def seen(cluster: RestrictedCluster, acls: list[Acl]) -> ClusterUse:
    connection = Connection(
        tuple(cluster.user_servers), tls=False, sasl_mechanism="PLAIN", username=USER, password=PASSWORD
    )
    with cluster.granted(acls), open_cluster(connection) as opened:
        return opened.use(opened.snapshot({"orders", "payments"}))


@pytest.mark.parametrize(
    ("acls", "unseen", "groups", "ids"),
    [
        ([*TOPICS, CLUSTER, GROUPS, READ, IDS], (), ["billing"], ["orders-1"]),
        (
            TOPICS,
            (
                "groups that are not granted one by one (Describe on the Cluster resource)",
                "transactional ids that are not granted one by one (Describe on TransactionalId *)",
                "the producers of 2 topics: the producers could not be read (Read on the topic): orders, payments",
            ),
            [],
            [],
        ),
        (
            [*TOPICS, CLUSTER, READ, IDS],
            ("what some groups read (Describe on them): billing",),
            ["billing"],
            ["orders-1"],
        ),
        (
            [
                *TOPICS,
                CLUSTER,
                GROUPS,
                rule("Read", "Topic", "orders"),
                rule("Describe", "TransactionalId", "orders-1"),
            ],
            (
                "transactional ids that are not granted one by one (Describe on TransactionalId *)",
                "the producers of 1 topic: the producers could not be read (Read on the topic): payments",
            ),
            ["billing"],
            ["orders-1"],
        ),
    ],
)
def test_each_missing_permission_is_named(
    used: RestrictedCluster, acls: list[Acl], unseen: tuple[str, ...], groups: list[str], ids: list[str]
) -> None:
    use = seen(used, acls)
    assert use.unseen == unseen
    assert [group.name for group in use.groups] == groups
    assert [each.name for each in use.transactions.found] == ids
    assert bool(use.producers["orders"].positions) is (
        READ in acls or bool(set(acls) & {rule("Read", "Topic", "orders")})
    )
