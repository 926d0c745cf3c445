"""Test the comparison of a user's rights with those that commands need, on plain values."""

from __future__ import annotations

import pytest

from tests.support.user_rights import CLUSTER, EVERY, GROUPS
from topicwarden.doctor.command_rights import COMMANDS, Resource
from topicwarden.doctor.right_states import UserRights, right_states
from topicwarden.kafka.user_rights import GroupRights, TopicRights
from topicwarden.model.diagnosis import Possession, RightState


def states(
    topics: TopicRights,
    *,
    declared: tuple[str, ...] = ("a", "b"),
    deletable: tuple[str, ...] = (),
    cluster: dict[str, bool | None] | None = None,
    groups: GroupRights = GROUPS,
    commands: tuple[str, ...] = tuple(COMMANDS),
) -> dict[str, RightState]:
    rights = UserRights(CLUSTER if cluster is None else cluster, topics, groups)
    return {each.right: each for each in right_states(rights, declared, deletable, commands)}


def test_with_all_rights_none_is_missing() -> None:
    found = states(TopicRights({"a": EVERY, "b": EVERY}))
    assert {each.state for each in found.values()} == {Possession.GRANTED}
    assert found.keys() == {str(each.right) for rights in COMMANDS.values() for each in rights}


@pytest.mark.parametrize(
    "operation", sorted({each.right.operation for each in COMMANDS["up"] if each.right.resource is Resource.TOPIC})
)
def test_a_right_is_missing_on_the_topics_that_lack_it(operation: str) -> None:
    topics = TopicRights(
        {"a": EVERY, "b": EVERY - {operation}}, missing=frozenset({"b"}) if operation == "Create" else frozenset()
    )
    found = states(topics, deletable=("b",), cluster={**CLUSTER, "Create": False}, commands=("up",))
    assert {name for name, each in found.items() if each.state is Possession.MISSING} == {f"{operation} on Topic"}
    assert found[f"{operation} on Topic"].topics == ["b"]


def test_what_the_declared_topics_do_not_need_is_not_missing() -> None:
    few = frozenset({"Describe", "DescribeConfigs", "Read", "Alter", "AlterConfigs"})
    found = states(TopicRights({"a": few, "b": few}), cluster={**CLUSTER, "Create": False}, commands=("up",))
    assert found["Create on Topic"].state is Possession.UNNEEDED
    assert found["Delete on Topic"].state is Possession.UNNEEDED


def test_create_on_the_cluster_creates_every_topic() -> None:
    topics = TopicRights({"a": EVERY, "b": EVERY - {"Create"}}, missing=frozenset({"b"}))
    assert states(topics)["Create on Topic"].state is Possession.GRANTED


def test_of_a_hidden_topic_only_the_hidden_right_is_missing() -> None:
    topics = TopicRights({"a": EVERY}, hidden=frozenset({"b"}))
    found = states(topics, cluster={**CLUSTER, "Create": False})
    assert (found["Describe on Topic"].state, found["Describe on Topic"].topics) == (Possession.MISSING, ["b"])
    assert (found["Read on Topic"].state, found["Read on Topic"].topics) == (Possession.UNTESTED, ["b"])
    assert "cannot see" in found["Read on Topic"].reason
    for tried, state in (
        ({"b": True}, Possession.GRANTED),
        ({"b": False}, Possession.MISSING),
        ({}, Possession.UNTESTED),
    ):
        topics = TopicRights({"a": EVERY}, hidden=frozenset({"b"}), creatable=tried)
        assert states(topics, cluster={**CLUSTER, "Create": False})["Create on Topic"].state is state


def test_undeclared_topics_matter_to_the_audit_only_and_those_of_kafka_to_nobody() -> None:
    topics = TopicRights(
        {"a": EVERY, "b": EVERY, "other": EVERY - {"Read"}, "__consumer_offsets": frozenset({"Describe"})}
    )
    assert states(topics)["Read on Topic"].topics == ["other"]
    assert states(topics, commands=("plan",))["Read on Topic"].state is Possession.GRANTED


def test_brokers_that_report_no_rights_leave_them_untested() -> None:
    found = states(TopicRights({"a": None, "b": EVERY}), cluster={"Describe": None, "Alter": False})
    assert found["Describe on Topic"].state is Possession.GRANTED, "the topic is visible"
    assert (found["Read on Topic"].state, found["Read on Topic"].topics) == (Possession.UNTESTED, ["a"])
    assert found["Describe on Cluster"].state is Possession.UNTESTED
    assert found["AlterConfigs on Cluster"].state is Possession.UNTESTED
    assert found["Alter on Cluster"].state is Possession.MISSING


def test_groups_are_named_if_they_exist() -> None:
    topics = TopicRights({"a": EVERY, "b": EVERY})
    some = states(topics, groups=GroupRights(frozenset({"g", "h"}), frozenset({"h"})))["Describe on Group"]
    assert (some.state, some.topics, some.extent) == (Possession.MISSING, ["h"], " on 1 of 2 groups")
    unknown = states(topics, groups=GroupRights(frozenset(), None))["Describe on Group"]
    assert unknown.state is Possession.UNTESTED
    denied = GroupRights(frozenset(), frozenset({"topicwarden-doctor"}))
    assert states(topics, groups=denied)["Describe on Group"].state is Possession.UNNEEDED, "there is no group"
    hidden = states(topics, groups=denied, cluster={**CLUSTER, "Describe": False})["Describe on Group"]
    assert (hidden.state, hidden.topics, hidden.extent) == (Possession.MISSING, [], "")
