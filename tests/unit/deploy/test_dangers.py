"""Test the list of a deployment's dangers: sorted, and short enough to read."""

from __future__ import annotations

from topicwarden.deploy.dangers import MOST, dangers
from topicwarden.model.planned_change import Action, Consequence, Severity, TopicPlan


def plan(topic: str, *severities: Severity, kind: str = "min-insync") -> TopicPlan:
    found = [Consequence(kind=kind, severity=severity, message=f"{severity.value}\nof it") for severity in severities]
    return TopicPlan(topic=topic, action=Action.UPDATE, consequences=found)


def test_a_line_for_each_danger_sorted_and_nothing_else() -> None:
    plans = [plan("b", Severity.DANGER, Severity.NOTE), plan("a", Severity.DANGER), plan("c", Severity.REFUSED)]
    assert dangers(plans, "dev") == ["a: danger of it [min-insync]", "b: danger of it [min-insync]"]


def test_replicas_left_to_rebalance_are_always_reported() -> None:
    moved = [plan("a", Severity.NOTE, kind="replication-factor")]
    assert dangers(moved, "dev") == ["a: note of it [replication-factor]"]


def test_long_lists_are_cut_and_counted() -> None:
    plans = [plan(f"t{number:04}", Severity.DANGER) for number in range(MOST + 1_234)]
    lines = dangers(plans, "prod")
    assert len(lines) == MOST + 1
    assert lines[-1] == "and 1,234 more: see `topicwarden plan --stack prod`"
    assert dangers(plans[:MOST], "prod")[-1].startswith(f"t{MOST - 1:04}: ")
