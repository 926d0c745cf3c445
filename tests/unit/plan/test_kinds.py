"""Test the table of kinds of access, whose resources keep their names, and the rates of clients with quotas."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from tests.support.access_parts import declared_access, live_access
from tests.support.growth import MOST, growth
from topicwarden import kinds
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas
from topicwarden.kinds import KINDS, every_kind, members, modules
from topicwarden.kinds.access_resource import AccessResource
from topicwarden.kinds.client_metrics.change import Subscription
from topicwarden.kinds.difference import declared_action
from topicwarden.kinds.quota.consequences.clients_throttled import LikelyRate, likely_rates
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.access import (
    AccessKey,
    Acl,
    DeployedAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.planned_change import AccessKind, Action
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.model.usage import DAY_MS
from topicwarden.plan.access_change import access_change
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.usage.use_records import TopicRecord, UseRecords

ACL = Acl(
    *("User:a", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TRANSACTIONAL_ID, "t"), PatternType.PREFIXED
)
NAMES: Final[dict[str, dict[AccessKey, str]]] = {
    "acls": {ACL: "be840388437d2322a1b7"},
    "quotas": {
        (("client-id", None), ("user", "a")): "eb007ef70ca31ffc204c",
        (("ip", "10.0.0.7"),): "a28c37f64b7908a1f177",
    },
    "users": {("a", "SCRAM-SHA-512"): "7747eb790ed19ca48583"},
    "group_configs": {"billing": "f8ecc289bb90f63f1cee"},
    "client_metrics": {Subscription("billing"): "77e727a9ce6937c8f122"},
}
"""The names that the states of deployed stacks have. Another name would delete a resource and create it again."""


def test_each_folder_is_a_kind_and_complete() -> None:
    folders = {path.parent.name for path in Path(kinds.__path__[0]).glob("*/__init__.py")}
    assert folders == {*KINDS, "subject", "topic"}
    parts = [each.PART for each in modules("change")]
    names = [part.name for part in parts]
    assert [part.kind for part in parts] == [*AccessKind], "a plan sorts by the order of this enumeration"
    assert names == [*NAMES]
    assert [each.RESOURCE.part for each in every_kind("resource")] == [*names, "topics", "subjects"]
    assert [each.SPEC.part for each in modules("spec")] == names
    assert [each.CONVERTER.part for each in modules("convert")] == names
    assert [each.LIVE.name for each in modules("live")] == names
    assert {each.__name__.split(".")[2] for each in members("checks")} == {*KINDS}
    assert all(each.CONSEQUENCES for each in modules("consequences"))


@pytest.mark.parametrize("resource", [each.RESOURCE for each in modules("resource")], ids=lambda each: each.part)
def test_the_name_of_a_resource_never_changes(resource: AccessResource) -> None:
    assert {key: resource.name(key) for key in NAMES[resource.part]} == NAMES[resource.part]


@pytest.mark.parametrize(
    ("exists", "edited", "as_live", "access", "subject"),
    [
        (True, False, True, None, None),
        (True, False, False, Action.DRIFT, Action.UPDATE),
        (True, True, False, Action.UPDATE, Action.UPDATE),
        (False, False, False, Action.DRIFT, Action.CREATE),
        (False, True, False, Action.CREATE, Action.CREATE),
        (None, False, False, None, None),
        (None, True, False, Action.UPDATE, Action.UPDATE),
    ],
)
def test_a_deploy_leaves_a_change_of_access_by_hand_and_reverts_one_of_a_subject(
    exists: bool | None, edited: bool, as_live: bool, access: Action | None, subject: Action | None
) -> None:
    compared: dict[str, Any] = {"deployed": True, "edited": edited, "exists": exists, "as_live": as_live}
    assert declared_action(**compared) is access
    assert declared_action(**compared, reverts=True) is subject


def test_no_two_kinds_have_equal_keys_or_names() -> None:
    for one, other in combinations(NAMES.values(), 2):
        assert not one.keys() & other.keys()
        assert not {*one.values()} & {*other.values()}


def test_live_access_has_the_entries_of_each_part_that_was_requested_under_its_name() -> None:
    live = live_access(parts={"users": {}, "quotas": None})
    assert (live.users, live.quotas) == ({}, None)
    assert copy(live) == live
    with pytest.raises(AttributeError, match="group_configs"):
        _ = live.group_configs


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


def seconds(users: int) -> float:
    """Return the CPU time to find the topics of as many users, of whom each gets a quota and may write one topic."""
    quotas = {(("user", f"u{each}"),): ({"producer_byte_rate": 1.0}, Location("q.yaml")) for each in range(users)}
    acls = frozenset(acl(f"User:u{each}", Operation.WRITE, f"t{each}") for each in range(users))
    topics = {(f"t{each}", "id"): TopicRecord(f"t{each}", "id", 0, DAY_MS) for each in range(users)}
    selected: list[set[str]] = []

    def snapshot(names: set[str]) -> Any:
        selected.append(names)
        return SimpleNamespace(topics={})

    cluster: Any = SimpleNamespace(snapshot=snapshot)
    earlier: Any = SimpleNamespace(read=lambda cluster_id: (UseRecords("c", DAY_MS, topics), ()))
    change = access_change(
        declared_access(parts={"quotas": quotas}), DeployedAccess(), live_access(acls, {"quotas": {}})
    )
    started = time.process_time()
    likely_rates(cast("Cluster", cluster), change, cast("EarlierUse", earlier), "c")
    taken = time.process_time() - started
    assert [*map(len, selected)] == [users]
    return taken


def test_the_time_to_find_likely_rates_grows_with_the_quotas() -> None:
    assert growth(seconds, 100) < MOST
