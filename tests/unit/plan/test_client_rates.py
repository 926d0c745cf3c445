"""Test which rate the growth of topics makes likely for a user."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.access_parts import declared_access, live_access
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas
from topicwarden.kinds.quota.consequences.clients_throttled import LikelyRate, likely_rates
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.access import (
    Acl,
    DeployedAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.model.usage import DAY_MS
from topicwarden.plan.access_change import access_change
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.usage.use_records import TopicRecord, UseRecords

ENTITY: QuotaEntity = (("user", "orders"),)


def acl(principal: str, operation: Operation, name: str = "orders") -> Acl:
    return Acl(principal, "*", operation, PermissionType.ALLOW, ResourceType.TOPIC, name)


def rates(key: str, *acls: Acl, limit: float = 1.0) -> dict[Any, LikelyRate]:
    """Return what a new quota of the user ``orders`` finds: the topic grows by 86,400 records of 10 bytes a day."""
    extent = PartitionExtent(0, 100, 100, None, None, 1000)
    replicas = (PartitionReplicas(0, 1, (1, 2), (1, 2)),)
    live = LiveTopic(Topic("orders", 1, 2), "id", {"cleanup.policy": "default"}, replicas, {0: extent})
    samples = ((0, 0, 0), (DAY_MS, 86_400, 10))
    records = UseRecords("c", DAY_MS, {("orders", "id"): TopicRecord("orders", "id", 0, DAY_MS, samples=samples)})
    cluster: Any = SimpleNamespace(snapshot=lambda names: SimpleNamespace(topics={"orders": live} if names else {}))
    earlier: Any = SimpleNamespace(read=lambda cluster_id: (records, ()))
    change = access_change(
        declared_access(parts={"quotas": {ENTITY: ({key: limit}, Location("access/q.yaml"))}}),
        DeployedAccess(),
        live_access(frozenset(acls), {"quotas": {}}),
    )
    return dict(likely_rates(cast("Cluster", cluster), change, cast("EarlierUse", earlier), "c"))


WRITE, READ = acl("User:orders", Operation.WRITE), acl("User:orders", Operation.READ)


def test_the_only_writer_of_a_topic_likely_writes_what_it_grows_by() -> None:
    found = rates("producer_byte_rate", WRITE)
    assert found == {(ENTITY, "producer_byte_rate"): LikelyRate(5.0, ("orders",), 2)}


def test_a_reader_likely_reads_a_topic_once() -> None:
    assert rates("consumer_byte_rate", READ, acl("User:other", Operation.READ))


@pytest.mark.parametrize(
    ("key", "acls"),
    [
        ("producer_byte_rate", (WRITE, acl("User:other", Operation.ALL, "*"))),
        ("producer_byte_rate", (READ,)),
        ("request_percentage", (WRITE,)),
        ("producer_byte_rate", ()),
    ],
)
def test_no_rate_is_likely_if_others_may_write_or_nothing_is_known(key: str, acls: tuple[Acl, ...]) -> None:
    assert not rates(key, *acls)


def test_a_prefix_counts() -> None:
    assert rates("producer_byte_rate", replace(WRITE, resource_name="or", pattern_type=PatternType.PREFIXED))
