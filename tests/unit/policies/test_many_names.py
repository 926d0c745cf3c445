"""Test that checks of many names do not compare each name with each other name."""

from __future__ import annotations

from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import (
    ACLS,
    AccessSource,
    Acl,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.message_text import Suggestions
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.policies.rules import access_topics

NAMES: Final = [f"orders.entity-{number}" for number in range(3_000)]


def messages(named: list[str]) -> list[str]:
    """Return the messages about literal ACLs of ``named``, if ``NAMES`` are the declared topics."""
    acls = {
        Acl("User:u", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, name, PatternType.LITERAL): (
            True,
            (AccessSource(Location("access/a.yaml", number + 1, 1), "acls"),),
        )
        for number, name in enumerate(named)
    }
    topics = [Topic(name, 1, 1, {}) for name in NAMES]
    access = DeclaredAccess({ACLS: acls})
    found = access_topics.judge_access(access, topics, access_topics.ALWAYS, BrokerSettings())
    return [violation.message for violation in found]


def test_a_declared_topic_of_an_acl_is_compared_with_no_other(comparisons: list[None]) -> None:
    assert messages(NAMES) == []
    assert not comparisons


def test_many_undeclared_topics_of_acls_are_compared_a_limited_number_of_times(comparisons: list[None]) -> None:
    assert len(messages([f"{name}-x" for name in NAMES])) == len(NAMES)
    assert comparisons


def test_only_the_first_of_many_unknown_words_get_a_suggestion() -> None:
    few, many = Suggestions(NAMES[:20]), Suggestions([*NAMES, *map(str, range(100_000))])
    assert [few.nearest("order.entity-7") for _ in range(100)] == ["orders.entity-7"] * 100
    assert [many.nearest("order.entity-7") for _ in range(2)] == ["orders.entity-7", None]
