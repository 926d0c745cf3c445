"""Test that each role has exactly the ACLs that Kafka's documentation demands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import (
    ConnectCluster,
    NamePattern,
    RecognizedAccess,
    StreamsApplication,
    expand,
    recognize,
)
from topicwarden.model.access import (
    Acl,
    Grant,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
    TopicAccess,
)


def test_a_producer_writes_to_the_topic() -> None:
    assert list(map(str, roles.produce("orders", Grant("User:o")))) == ["Allow Write on Topic orders for User:o"]


def test_a_transactional_producer_writes_with_its_transactional_id() -> None:
    grant = Grant("User:o", "10.0.0.7", "orders-", prefix=True)
    assert list(map(str, roles.produce("orders", grant))) == [
        "Allow Write on Topic orders for User:o from 10.0.0.7",
        "Allow Write on TransactionalId orders-* for User:o from 10.0.0.7",
    ]


def test_a_consumer_reads_the_topic_and_its_group() -> None:
    assert list(map(str, roles.consume("orders", Grant("User:b", name="billing")))) == [
        "Allow Read on Topic orders for User:b",
        "Allow Read on Group billing for User:b",
    ]
    assert list(map(str, roles.consume("orders", Grant("User:b")))) == ["Allow Read on Topic orders for User:b"]


def test_a_streams_application_manages_its_internal_topics() -> None:
    application = StreamsApplication(
        "User:f", "fraud", (NamePattern("orders"), NamePattern("pay.", prefix=True)), (NamePattern("scores"),)
    )
    assert list(map(str, roles.streams(application))) == [
        "Allow Read on Topic orders for User:f",
        "Allow Read on Topic pay.* for User:f",
        "Allow Write on Topic scores for User:f",
        "Allow Create on Topic fraud-* for User:f",
        "Allow Read on Topic fraud-* for User:f",
        "Allow Write on Topic fraud-* for User:f",
        "Allow Delete on Topic fraud-* for User:f",
        "Allow Read on Group fraud for User:f",
    ]


def test_exactly_once_streams_need_their_transactional_ids() -> None:
    acls = list(map(str, roles.streams(StreamsApplication("User:f", "fraud", exactly_once=True))))
    assert acls[-1] == "Allow Write on TransactionalId fraud-* for User:f"


def test_a_connect_cluster_has_its_group_and_three_topics() -> None:
    cluster = ConnectCluster("User:c", "main", "c-configs", "c-offsets", "c-status")
    assert list(map(str, roles.connect(cluster))) == [
        "Allow Read on Group main for User:c",
        "Allow Read on Topic c-configs for User:c",
        "Allow Write on Topic c-configs for User:c",
        "Allow Read on Topic c-offsets for User:c",
        "Allow Write on Topic c-offsets for User:c",
        "Allow Read on Topic c-status for User:c",
        "Allow Write on Topic c-status for User:c",
    ]


def test_connectors_need_their_topics_groups_and_transactions() -> None:
    reads, writes = (NamePattern("orders"),), (NamePattern("crm.", prefix=True),)
    cluster = ConnectCluster("User:c", "main", "c", "o", "s", reads, writes, exactly_once=True)
    assert list(map(str, roles.connect(cluster)))[7:] == [
        "Allow Read on Topic orders for User:c",
        "Allow Read on Group connect-* for User:c",
        "Allow Write on Topic crm.* for User:c",
        "Allow Write on TransactionalId connect-cluster-main for User:c",
        "Allow Write on TransactionalId main-* for User:c",
    ]


def test_operations_become_one_acl_each() -> None:
    grant = OperationGrant("User:x", (Operation.ALTER, Operation.DELETE), PermissionType.DENY, "10.0.0.1")
    assert list(map(str, roles.operations(grant, ResourceType.CLUSTER, NamePattern("kafka-cluster")))) == [
        "Deny Alter on Cluster for User:x from 10.0.0.1",
        "Deny Delete on Cluster for User:x from 10.0.0.1",
    ]


TOPICS = ("orders", "app", "app-x")
ACLS = st.builds(
    Acl,
    st.sampled_from(["User:a", "User:b"]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.DESCRIBE]),
    st.sampled_from([PermissionType.ALLOW] * 4 + [PermissionType.DENY]),
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER]),
    st.sampled_from([*TOPICS, "app-", "other"]),
    st.sampled_from(PatternType),
)
APPLICATION = StreamsApplication("User:a", "app")


@given(st.frozensets(ACLS, max_size=40), st.sets(st.sampled_from(TOPICS)), st.booleans())
def test_recognized_roles_have_exactly_the_same_acls(acls: frozenset[Acl], topics: set[str], streams: bool) -> None:
    acls |= frozenset(roles.streams(APPLICATION)) if streams else frozenset()
    assert expand(recognize(acls, topics)) == acls


def test_roles_come_back() -> None:
    expected = RecognizedAccess(
        topics={
            "orders": TopicAccess(
                produce=(Grant("User:orders", name="orders-", prefix=True), Grant("User:plain", "10.0.0.1")),
                consume=(Grant("User:billing", name="billing"),),
                acls=(OperationGrant("User:ops", (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)),),
            ),
            "refunds": TopicAccess(consume=(Grant("User:billing", name="billing"),)),
        },
        applications={"fraud": StreamsApplication("User:fraud", "fraud", exactly_once=True)},
        operations={
            (ResourceType.GROUP, NamePattern("billing")): (
                OperationGrant("User:ops", (Operation.DELETE,), PermissionType.DENY),
            ),
        },
    )
    acls = expand(expected)
    found = recognize(acls, ["orders", "refunds"])
    assert expand(found) == acls
    assert found.topics["orders"].produce == expected.topics["orders"].produce
    assert found.topics["orders"].consume == expected.topics["orders"].consume
    assert set(found.topics["orders"].acls[0].operations) == set(expected.topics["orders"].acls[0].operations)
    assert found.topics["refunds"] == expected.topics["refunds"]
    assert (found.applications, found.operations) == (expected.applications, expected.operations)


def test_several_groups_of_a_principal_belong_to_no_topic() -> None:
    billing = Grant("User:billing", name="billing")
    acls = {*roles.consume("orders", billing), *roles.consume("orders", Grant("User:billing", name="audit"))}
    found = recognize(acls, ["orders"])
    assert found.topics == {"orders": TopicAccess(consume=(Grant("User:billing"),))}
    assert [names.name for _, names in found.operations] == ["audit", "billing"]
