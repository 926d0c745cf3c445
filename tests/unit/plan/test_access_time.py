"""Test that the time to judge and record a change of access grows with its entries, and not with their square."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest

from tests.support.access_parts import declared_access, deployed_access, live_access
from tests.support.growth import MOST, growth
from topicwarden.deploy.access_state import recorded_access
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.transactions import TopicProducers, Transaction
from topicwarden.kinds import modules
from topicwarden.kinds.acl.consequences import first_acl
from topicwarden.kinds.client_metrics.change import Subscription
from topicwarden.model.access import (
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.plan.access_change import access_change
from topicwarden.plan.access_context import AccessContext, OwnClient, StackTopics
from topicwarden.plan.access_effects import Decisions
from topicwarden.plan.access_evidence import AccessEvidence
from topicwarden.plan.predict_access import judge_access

SCRAM: Final = "SCRAM-SHA-512"
SETTINGS: Final = AuthorizerSettings("org.apache.kafka.metadata.authorizer.StandardAuthorizer", frozenset(), False)

OPEN: Final = AuthorizerSettings("org.apache.kafka.metadata.authorizer.StandardAuthorizer", frozenset(), True)


def acl(number: int) -> Acl:
    principal, topic = f"User:u{number}", f"t{number}"
    return Acl(principal, "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, topic, PatternType.LITERAL)


ENTRIES: Final[Mapping[str, Callable[[int], tuple[Any, Any]]]] = {
    "acls": lambda number: (acl(number), None),
    "users": lambda number: ((f"u{number}", SCRAM), ScramUser(f"u{number}", SCRAM, 4096)),
    "quotas": lambda number: ((("user", f"u{number}"),), {"producer_byte_rate": 1.0 + number}),
    "group_configs": lambda number: (f"g{number}", {"consumer.session.timeout.ms": "50000"}),
    "client_metrics": lambda number: (Subscription(f"m{number}"), {"interval.ms": "50000"}),
}


def seconds(part: str, number: int) -> float:
    """Return the CPU time to judge and record that a deploy deletes this many entries, beside an ACL for each."""
    acls = frozenset(map(acl, range(number)))
    entries = dict(map(ENTRIES[part], range(number)))
    parts = {} if part == "acls" else {part: entries}
    deployed_acls = acls if part == "acls" else frozenset[Acl]()
    deployed = deployed_access(deployed_acls, parts, homes=dict.fromkeys(entries, ("access/all.yaml",)))
    started = time.process_time()
    change = access_change(DeclaredAccess(), deployed, live_access(acls, parts, {1: SETTINGS}))
    plan = judge_access(
        change, AccessEvidence(), StackTopics(), OwnClient("User:deployer", SCRAM), now=1_800_000_000_000
    )
    recorded = recorded_access(DeclaredAccess(), departing=deployed)
    taken = time.process_time() - started
    assert len(recorded["declared"]) == number
    assert len(plan.plan.items) == number
    return taken


def test_each_kind_is_timed() -> None:
    assert {each.PART.name for each in modules("change")} == ENTRIES.keys()


@pytest.mark.parametrize("part", ENTRIES)
def test_four_times_as_many_entries_take_about_four_times_as_long(part: str) -> None:
    assert growth(partial(seconds, part), 750) < MOST


def seconds_with_a_group(number: int) -> float:
    """Return the CPU time to judge that a group loses one of its topics; each topic has a reader of its own, too."""
    topics = [f"t{each}" for each in range(number)]
    own = {replace(acl(0), principal="User:g", resource_name=name) for name in topics}
    group = replace(acl(0), principal="User:g", resource_type=ResourceType.GROUP, resource_name="g")
    acls = frozenset({*map(acl, range(number)), *own, group})
    lost = frozenset({replace(group, resource_type=ResourceType.TOPIC, resource_name="t0")})
    change = access_change(DeclaredAccess(), deployed_access(lost), live_access(acls, {}, {1: SETTINGS}))
    offsets = {(name, 0): 5 for name in topics}
    evidence = AccessEvidence(
        groups=(ConsumerGroup("g", "Stable", 1, offsets, frozenset(offsets)),), known={ResourceType.TOPIC: topics}
    )
    started = time.process_time()
    judged = judge_access(change, evidence, StackTopics(), OwnClient("User:deployer", SCRAM), now=1_800_000_000_000)
    taken = time.process_time() - started
    assert [each.evidence["principal"] for each in judged.plan.consequences if each.kind == "access-lost"] == ["User:g"]
    return taken


def test_a_group_of_four_times_as_many_topics_takes_about_four_times_as_long() -> None:
    assert growth(seconds_with_a_group, 60) < MOST


def test_the_users_of_many_topics_that_get_their_first_acl() -> None:
    def seconds(number: int) -> float:
        evidence = AccessEvidence(
            groups=tuple(ConsumerGroup(f"g{each}", "Stable", 1, {(f"t{each}", 0): 1}) for each in range(number)),
            transactions=tuple(Transaction(f"x{each}", "Empty", each) for each in range(number)),
            producers={f"t{each}": TopicProducers({each: 1, number: 1}) for each in range(number)},
        )
        declared = declared_access({acl(each): () for each in range(number)})
        change = access_change(declared, deployed_access(), live_access((), {}, {1: OPEN}))
        names = frozenset(f"t{each}" for each in range(number))
        decisions = Decisions(change, names)
        context = AccessContext(change, decisions, evidence=evidence, topics=StackTopics(live=names))
        started = time.process_time()
        found = list(first_acl.evaluate(context))
        taken = time.process_time() - started
        assert len(found) == number
        assert found[0].because[1] == (
            "it is used now by group g0 (active, 1 member), transactional id x0, 1 other producer"
        )
        return taken

    assert growth(seconds, 250) < MOST
