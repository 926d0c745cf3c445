"""Test that an engine step that the plan does not predict is refused."""

from __future__ import annotations

import pytest

from topicwarden.model.planned_change import Action, Severity, TopicPlan
from topicwarden.plan.engine_steps import EngineStep, with_unpredicted


def on_topic(name: str, op: str, urn: str) -> EngineStep:
    return EngineStep(op, urn, "kafka:index/topic:Topic", properties={"name": name})


def severity(action: Action | None, op: str, live: bool = True) -> Severity | None:
    plans = [] if action is None else [TopicPlan(topic="t", action=action)]
    found = with_unpredicted(plans, [on_topic("t", op, "urn")], {"t"} if live else set())
    return found[0].severity if found else None


@pytest.mark.parametrize(
    ("action", "op"),
    [
        (Action.CREATE, "create"),
        (Action.ADOPT, "import"),
        (Action.ADOPT, "update"),
        (Action.UPDATE, "update"),
        (Action.RECREATE, "delete-replaced"),
        (Action.RECREATE, "create-replacement"),
        (Action.DELETE, "delete"),
    ],
)
def test_predicted_losses_pass(action: Action, op: str) -> None:
    assert severity(action, op) is None


@pytest.mark.parametrize(
    ("action", "op"),
    [
        (action, op)
        for action in (None, Action.DRIFT, Action.MOVE, Action.CREATE, Action.ADOPT)
        for op in ("delete", "delete-replaced", "replace", "update", "discard", "import-replacement")
        if (action, op) != (Action.ADOPT, "update")
    ],
)
def test_other_values_are_refused(action: Action | None, op: str) -> None:
    assert severity(action, op) is Severity.REFUSED


@pytest.mark.parametrize(
    ("action", "op"), [(Action.UPDATE, "delete-replaced"), (Action.RECREATE, "delete"), (Action.DELETE, "replace")]
)
def test_a_deletion_of_another_kind_is_refused(action: Action, op: str) -> None:
    assert severity(action, op) is Severity.REFUSED


def test_creating_a_missing_topic_loses_nothing() -> None:
    assert severity(Action.DRIFT, "create-replacement", live=False) is None
    assert severity(None, "delete", live=False) is Severity.REFUSED


def test_the_refusal_names_the_step_and_the_resource_and_comes_once() -> None:
    steps = [on_topic("b", "delete", "urn:b"), on_topic("b", "delete", "urn:b2"), on_topic("a", "discard", "urn:a")]
    plans = with_unpredicted([TopicPlan(topic="c", action=Action.CREATE)], steps, {"a", "b"})
    assert [(plan.topic, plan.action, len(plan.consequences)) for plan in plans] == [
        ("a", Action.DELETE, 1),
        ("b", Action.DELETE, 1),
        ("c", Action.CREATE, 0),
    ]
    assert "the engine would delete the topic (urn:b)" in plans[1].consequences[0].message
