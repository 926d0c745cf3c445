"""Test that printing what a thousand topics have takes no second of CPU time; each takes less than a fifth of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.unit.importing.large_import import MANY
from tests.unit.report import plans
from topicwarden.cli.import_ import show
from topicwarden.model.planned_change import Action, PlanReport, TopicPlan
from topicwarden.model.problem import Location, Problem
from topicwarden.report import plan, problems, terminal
from topicwarden.report.document import Medium
from topicwarden.report.plan.document import document
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.terminal_output import VERBOSITY

PROBLEMS = tuple(
    Problem(Location(f"topics/t{n}.yaml", 2, 13), f"expected a number, got x{n}", "type") for n in range(1_000)
)


@cache
def _first_deploy() -> PlanReport:
    settings = [plans.setting(name, value, None, None) for name, value in (("partitions", "6"), ("segment.ms", "1000"))]
    topics = (TopicPlan(topic=f"orders.t{number}", action=Action.CREATE, settings=settings) for number in range(1_000))
    return plans.report([*topics])


@cache
def _dangerous() -> PlanReport:
    return plans.many(1_000, refused=40)


def _on_a_terminal(report: PlanReport) -> str:
    return terminal.text(document(report, Medium.TERMINAL), 100)


@pytest.mark.parametrize(
    "output",
    [
        lambda: _on_a_terminal(_first_deploy()),
        lambda: _on_a_terminal(_dangerous()),
        lambda: plan.render(_first_deploy(), "text"),
        lambda: problems.render(ProblemDigest(Path(), PROBLEMS, (), 1_000), "text"),
        lambda: show(MANY, Path(), dry_run=True),
    ],
    ids=["plan", "dangerous plan", "whole plan", "check", "import"],
)
def test_printing_a_thousand_topics_takes_no_second(
    output: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VERBOSITY, "verbose", True)
    output()  # imports, and makes the plans
    started = time.process_time()
    output()
    assert time.process_time() - started < 1
