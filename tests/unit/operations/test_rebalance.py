"""Test what a rebalance says about throttles that stay, and how it ends after a no or a signal."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from topicwarden.cli import rebalance as command
from topicwarden.deploy.rebalance.reassignment import ReassignmentResult
from topicwarden.deploy.rebalance.throttling import ThrottleRemoval
from topicwarden.kafka.write.throttle_admin import ThrottleLists
from topicwarden.kafka_facts.throttle_settings import RATES
from topicwarden.model.topic import Topic
from topicwarden.operations.rebalance import Rebalance
from topicwarden.plan.placement.replica_placement import ReplicaMove


@pytest.mark.parametrize("chosen", [["a", "b"], ["a"]])
def test_a_declared_throttle_list_is_nobody_elses_whatever_topics_were_selected(chosen: list[str]) -> None:
    lists = {"leader.replication.throttled.replicas": "0:1"}
    declared: Any = [SimpleNamespace(topic=Topic("a", 1, 1)), SimpleNamespace(topic=Topic("b", 1, 1, lists))]
    selected: Any = tuple(each for each in declared if each.topic.name in chosen)
    unused: Any = None
    rebalance = Rebalance(unused, declared, selected, None, None, None, unused)
    assert rebalance.names == {"a", "b"}
    assert rebalance._without_declared(ThrottleRemoval(lists_of_others=("b", "c"))).lists_of_others == ("c",)


Run = Callable[[ReassignmentResult | None], tuple[int, list[str]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that moves one partition with this result, or answers no; it returns the code and the calls."""
    calls: list[str] = []

    def call(name: str, result: Any) -> Callable[..., Any]:
        def called(*_: object) -> Any:
            calls.append(name)
            return result

        return called

    def moving(outcome: ReassignmentResult | None) -> tuple[int, list[str]]:
        stop = Event()
        stop.set()
        placement = SimpleNamespace(problems=[], stuck=[], moves=[ReplicaMove("a", 0, (1,), (2,), 1, 1)])
        target = SimpleNamespace(reductions=[], placement=placement, missing=(), under_way=())
        operation: Any = SimpleNamespace(
            rate=None,
            keeps_rate=False,
            targets=lambda: target,
            move=call("move", outcome),
            complete=call("complete", ()),
            refresh_state=call("refresh", 1),
        )
        monkeypatch.setattr(command, "confirmed", lambda _: outcome is not None)
        monkeypatch.setattr(command, "require_terminal", lambda _: None)
        options = command.RebalanceOptions("unlimited")
        return command._move(operation, options, stop, "topicwarden rebalance"), calls

    return moving


def test_a_no_moves_nothing_and_is_no_error(run: Run) -> None:
    assert run(None) == (0, [])


def test_a_signal_after_the_last_move_does_not_keep_the_leaders_from_being_elected(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ThrottleRemoval(retained={2: "it is down"})
    assert run(ReassignmentResult({}, 0, 0, kept)) == (1, ["move", "complete", "refresh"])
    shown = capsys.readouterr().out
    assert "moved: 1 partition\n" in shown
    assert "broker 2 may keep a replication throttle" in shown
    assert "stopped" not in shown


@pytest.mark.parametrize(("moving", "waiting"), [(1, 0), (0, 1)])
def test_a_stopped_rebalance_says_what_moves_and_which_throttles_stay(
    run: Run, moving: int, waiting: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ThrottleRemoval() if moving else ThrottleRemoval(retained={2: "it is down"})
    assert run(ReassignmentResult({}, moving, waiting, kept)) == (1, ["move"])
    shown = capsys.readouterr().out
    assert "stopped: " in shown
    assert ("may keep a replication throttle" in shown) is bool(waiting)


OWN = ThrottleLists(frozenset({1, 2, 3}), marked=True)


@pytest.mark.parametrize(
    ("lists", "rates", "expected"),
    [
        ({"a": OWN}, {1: "300", 2: "200"}, 200),
        ({"a": OWN}, {}, 50),
        ({"a": ThrottleLists(frozenset({1}))}, {1: "300"}, 50),  # another tool wrote the list
        ({"b": OWN}, {1: "300"}, 50),  # a topic of another stack
        ({"a": OWN}, {3: "100", 1: "300"}, 300),  # broker 3 is lost
    ],
)
def test_a_resumed_rebalance_keeps_the_throttle_of_the_earlier_run(
    lists: dict[str, ThrottleLists], rates: dict[int, str], expected: int
) -> None:
    session: Any = SimpleNamespace(
        reassignment=SimpleNamespace(ongoing=dict, brokers=lambda: {1: True, 2: True, 3: False}),
        throttle=SimpleNamespace(
            lists=lambda: (lists, frozenset()),
            rates=lambda brokers: {broker: dict.fromkeys(RATES, rates[broker]) for broker in brokers & rates.keys()},
        ),
    )
    declared: Any = [SimpleNamespace(topic=Topic("a", 1, 1))]
    unused: Any = None
    resumed = Rebalance(session, declared, (), 50, None, None, unused).with_rate_in_force()
    assert (resumed.rate, resumed.keeps_rate) == (expected, expected != 50)


def test_the_throttle_of_a_resumed_rebalance_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    placement = SimpleNamespace(problems=[], stuck=[], moves=[])
    move = ReplicaMove("a", 0, (1,), (2,), 1, 1)
    target: Any = SimpleNamespace(reductions=[], placement=placement, missing=(), under_way=[move])
    for kept in (True, False):
        operation: Any = SimpleNamespace(rate=300 * 1024, keeps_rate=kept)
        command._show_targets(operation, target)
        shown = capsys.readouterr().out
        assert "already in progress: 1 partition\nthrottle: 300.0 KiB per second" in shown
        assert ("as an earlier run set it" in shown) is kept


def test_the_command_that_resumes_has_the_selected_topics_and_the_throttle() -> None:
    options = command.RebalanceOptions("200KiB")
    assert command._command("dev", ["pay.*", "!pay.x"], options) == (
        "topicwarden rebalance --stack dev --topics 'pay.*' --topics '!pay.x' --throttle 200KiB"
    )
    assert command._command("dev", (), command.RebalanceOptions(None)) == "topicwarden rebalance --stack dev"
