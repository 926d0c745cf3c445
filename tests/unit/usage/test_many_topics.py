"""Test that what is known of all topics is gone through once, and not for each topic."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tests.support.subjects import NOW
from tests.unit.checks.usage import IDLE, idle, logged, logs
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.unused_access import incomplete_logs
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.usage import DAY_MS, GroupUse, LoggedUse, TopicUse
from topicwarden.usage.removable import _idle_topics
from topicwarden.usage.usage_facts import UsageFacts
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse


class CountedUses(tuple[LoggedUse, ...]):
    """Logged uses that count how often somebody goes through all of them."""

    def __iter__(self) -> Iterator[LoggedUse]:
        passes.append("uses")
        return super().__iter__()


class CountedGroups(UserDict[str, GroupUse]):
    """Groups that count how often somebody goes through all of them."""

    def __iter__(self) -> Iterator[str]:
        passes.append("groups")
        return super().__iter__()


passes: list[str] = []
GROUP = GroupUse("g", "consumer", NOW - 9 * DAY_MS, NOW, topics=frozenset({"t"}))


def test_the_logs_of_brokers_are_judged_in_one_pass() -> None:
    of_brokers = replace(logs(), uses=CountedUses([logged()]))
    passes.clear()
    assert [incomplete_logs(of_brokers, (1, 2, 3), NOW, 30 * DAY_MS) for _ in range(20)] == [""] * 20
    assert passes == ["uses"]


def test_the_groups_that_keep_offsets_of_idle_topics_are_found_in_one_pass() -> None:
    of = idle()
    assert of.use_context
    of = replace(of, use_context=replace(of.use_context, groups=CountedGroups({"g": GROUP})))
    passes.clear()
    for _ in range(20):
        (result,) = results_of(CHECKS["idle-topic"], of) or ()
        assert (
            "group g has committed offsets: a consumer with assign() may commit the same ones again" in result.because
        )
    assert passes == ["groups"]


def test_a_report_finds_the_groups_that_keep_offsets_of_idle_topics_in_one_pass() -> None:
    of = idle()
    use, live = of.use, of.live
    assert use and live
    uses: dict[str, TopicUse] = {f"t{each}": use for each in range(20)}
    snapshot = Snapshot("c", NOW, {}, {}, {name: replace(live, topic=replace(live.topic, name=name)) for name in uses})
    groups = CountedGroups({"g": replace(GROUP, topics=frozenset(uses))})
    facts = UsageFacts("dev", "", snapshot, RememberedUse(groups=groups), {}, UseContext(policy=IDLE, groups=groups))
    topics: Any = dict.fromkeys(uses, SimpleNamespace(replica_bytes=None, cost=None))
    passes.clear()
    found = list(_idle_topics(facts, uses, topics))
    assert [each.name for each in found] == [*uses]
    assert all("group g has committed offsets" in each.reason for each in found)
    assert passes == ["groups"]
