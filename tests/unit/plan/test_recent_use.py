"""Test who a plan names as recent users of a topic, and that the evidence of many topics is sorted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.unit.plan.consequences.scenario import DAY, NOW
from topicwarden.kinds.topic.evidence import RequiredEvidence, gather
from topicwarden.model.planned_change import Consequence, Severity, user_sentences
from topicwarden.model.usage import Interval, TopicUse, Use, UseAction, UserKind
from topicwarden.plan.recent_use import MAX_USERS, NO_USE, recent_use, with_recent_use

CASES: Mapping[str, Mapping[str, Any]] = yaml.load(
    (Path(__file__).parent / "cases" / "recent_use.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


@pytest.mark.parametrize("name", CASES)
def test_recent_users_of_a_topic(name: str) -> None:
    case = CASES[name]
    previous = case.get("previous")
    since = NOW if previous is None else days_ago(previous[0])
    now = TopicUse("t", "id", since, NOW, interval(case.get("written")), users=tuple(map(use, case.get("users", ()))))
    before = TopicUse("t", "id", since, days_ago(previous[1])) if previous else None
    found = recent_use(now, before, case.get("window", 30) * DAY, history_read=case.get("history_read", True))
    assert [*found.reasons, *(f"> {line}" for line in user_sentences(found.users))] == case["expected"].splitlines()


def test_a_topic_with_many_users_lists_the_most_recent() -> None:
    users = tuple(use(["read", "group", f"g{number}", 100, [number, number]]) for number in range(29))
    writers = tuple(use(["write", "producer-id", str(number), 100, [1, 0]]) for number in range(40))
    found = recent_use(TopicUse("t", "id", days_ago(100), NOW, users=users + writers), None, 30 * DAY)
    assert len(found.users) == MAX_USERS
    assert found.users[0].name == "g0"
    assert {user.action for user in found.users[1:41]} == {UseAction.WRITE}
    assert f"69 users in all; the first {MAX_USERS} are listed" in found.reasons


def test_only_a_loss_names_the_users() -> None:
    found = recent_use(
        TopicUse("t", "id", NOW, NOW, users=(use(["read", "group", "billing", 0, "now"]),)), None, 30 * DAY
    )
    note = Consequence(kind="retention-cut", severity=Severity.NOTE, message="the topic is empty")
    assert with_recent_use(note, found) == note
    refused = note.model_copy(update={"severity": Severity.REFUSED, "because": ["first"]})
    assert with_recent_use(refused, NO_USE) == refused
    named = with_recent_use(refused, found)
    assert [user.name for user in named.users] == ["billing"]
    assert named.because[0] == "first"


def use(values: Sequence[Any]) -> Use:
    action, kind, name, first_seen, last = values
    active = last == "now"
    return Use(
        UseAction(action),
        UserKind(kind),
        name,
        days_ago(first_seen),
        Interval(NOW, NOW) if active else interval(last),
        active,
    )


def interval(days: Sequence[int] | None) -> Interval | None:
    return None if days is None else Interval(days_ago(days[0]), days_ago(days[1]))


def days_ago(days: int) -> int:
    return NOW - days * DAY


TOPICS = ("a", "b", "c")


class CountedGroup:
    """A consumer group that counts how often its topics are computed."""

    share, hidden, offsets = False, False, {("a", 0): 1}

    def __init__(self, *topics: str) -> None:
        self._topics, self.computed = topics, 0

    @property
    def topics(self) -> frozenset[str]:
        self.computed += 1
        return frozenset(self._topics)


def test_each_topic_gets_its_own_evidence_and_the_topics_of_a_group_are_computed_once() -> None:
    groups: Any = (CountedGroup("a", "b"), CountedGroup("b"), CountedGroup("elsewhere"))
    cluster: Any = SimpleNamespace(
        groups=lambda *_: groups,
        local_starts=lambda partitions: {each: 7 + each[1] for each in partitions},
        largest_batches=lambda _, topics: {(name, 0): len(name) for name in topics},
        newest_records=lambda _: {},
        first_offsets_at=lambda _: {},
    )
    log = SimpleNamespace(start=0, end=5)
    snapshot: Any = SimpleNamespace(
        topics={name: SimpleNamespace(extents={0: log, 1: log}) for name in TOPICS}, cluster_described=True
    )
    every = RequiredEvidence(groups=True, local=True, batches=True)
    found = gather(cluster, snapshot, {"a": every, "b": every, "c": RequiredEvidence()})
    assert {name: each.groups for name, each in found.items()} == {"a": groups[:1], "b": groups[:2], "c": ()}
    assert {name: each.local_starts for name, each in found.items()} == {"a": {0: 7, 1: 8}, "b": {0: 7, 1: 8}, "c": {}}
    assert [found[name].largest_batches for name in TOPICS] == [{0: 1}, {0: 1}, {}]
    assert {group.computed for group in groups} == {1}
