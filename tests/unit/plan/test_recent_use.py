"""Test who a plan names as recent users of a topic, on the cases in ``cases/recent_use.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.plan.consequences.scenario import DAY, NOW
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
