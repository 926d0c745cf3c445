"""Test which usage and cost apply on a stack, and the limits of unread records in specs, expressions and `show`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.cases import POLICY_CASES, STACKS, TODAY, find_case, project_of
from tests.support.command import project, topicwarden
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.policies.check_specs import check
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.topic_view import required_fields, view
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.write.topic_access import declarable, topic_access_lines

DAY = 86_400_000
CASE = find_case(POLICY_CASES, "good", "usage-and-cost")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return load_policy(project_of(CASE, tmp_path), TODAY)


def test_the_first_block_of_a_stack_applies(policy: Policy) -> None:
    dev, prod = policy.usage_for("dev"), policy.usage_for("prod")
    assert prod is not None
    assert (prod.idle_after, prod.idle_groups_after, prod.unused_access_after) == (90 * DAY, None, None)
    assert dev == UsagePolicy(
        idle_after=7 * DAY, idle_groups_after=36_500 * DAY, unused_access_after=1, exempt_groups=("console-*",)
    )


def test_cost_of_another_stack_does_not_apply(policy: Policy) -> None:
    cost = policy.cost_for("prod")
    assert policy.cost_for("dev") is None
    assert cost is not None
    prices = (cost.storage_gib_month, cost.tiered_gib_month, cost.written_gib, cost.read_gib)
    assert (cost.currency, prices) == ("EUR", (0.09, 0.0, 0.0, 1.0))


def test_without_blocks_there_is_no_usage_and_no_cost() -> None:
    policy = Policy({})
    assert (policy.usage_for("dev"), policy.cost_for("dev")) == (None, None)


def test_names_are_exempt_by_pattern_and_a_policy_cannot_be_changed() -> None:
    policy = UsagePolicy(exempt=("*.dlq", "raw-?"), exempt_groups=("console-consumer-*",))
    assert [name for name in ("a.dlq", "a.dlq.b", "raw-1", "raw-12") if policy.exempts_topic(name)] == [
        "a.dlq",
        "raw-1",
    ]
    assert policy.exempts_group("console-consumer-7")
    assert not policy.exempts_group("my-console-consumer-7")
    assert not UsagePolicy().exempts_topic("a")
    with pytest.raises(ValidationError):
        policy.idle_after = 7  # type: ignore[misc]


def test_limits_of_unread_records_follow_defaults_and_stacks(tmp_path: Path) -> None:
    written = project_of(CASE, tmp_path)
    checked = check(written, written.stack_names(), TODAY)
    by_stack = {
        (stack, each.topic.name): each.topic.contents.consumers.max_lag
        for stack, declared in checked.declarations.items()
        for each in declared
    }
    assert by_stack == {("dev", "a"): None, ("dev", "b"): DAY, ("prod", "a"): DAY, ("prod", "b"): DAY}
    [topic] = [each.topic for each in checked.declarations["prod"] if each.topic.name == "a"]
    assert topic.access.consume == (
        Grant("User:a", name="g", max_lag=5_400_000),
        Grant("User:b", name="nightly-", prefix=True),
    )
    seen = view(topic, BrokerSettings(), required_fields(["topic.access", "topic.contents"]))
    assert [each["max_lag"] for each in seen["access"]["consume"]] == [5_400_000, None]
    assert seen["contents"]["consumers"] == {"max_lag": DAY}


def test_show_prints_the_limits_of_unread_records(tmp_path: Path) -> None:
    root = project(tmp_path, {**CASE.files}, STACKS)
    text = topicwarden("show", "a", "--stack", "prod", cwd=root).out
    assert "access.consume.g.max_lag" in text
    assert "5400000 (1 h 30 min)" in text
    assert "topics/_defaults.yaml:1:33" in text
    shown = json.loads(topicwarden("show", "a", "--stack", "prod", "--format", "json", cwd=root).out)
    limits = {
        tuple(each["path"]): (each["value"], each["source"]) for each in shown["values"] if "max_lag" in each["path"]
    }
    assert limits == {
        ("access", "consume", "g", "max_lag"): (5_400_000, "topics/a.yaml:5:7"),
        ("contents", "consumers", "max_lag"): (DAY, "topics/_defaults.yaml:1:33"),
    }


def test_a_limit_is_written_back_as_a_person_writes_it() -> None:
    access = TopicAccess(consume=(Grant("User:a", name="g", max_lag=5_400_000), Grant("User:b", name="h", max_lag=1)))
    assert declarable(access) == (access, [])
    assert list(topic_access_lines(access)) == [
        "access:",
        "  consume:",
        "    - {principal: User:a, group: g, max_lag: 90m}",
        "    - {principal: User:b, group: h, max_lag: 1ms}",
    ]
