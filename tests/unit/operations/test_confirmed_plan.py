"""Test that `topicwarden up` and `destroy` carry out the plan that was confirmed, or ask again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from topicwarden.cli import deploy
from topicwarden.deploy.program_run import PlanChanged
from topicwarden.model.planned_change import Action, Consequence, PlanReport, PreviewResult, Severity, TopicPlan


def plan(records: int) -> PlanReport:
    loss = Consequence(kind="destroyed", severity=Severity.DANGER, message="lost", evidence={"records": records})
    topic = TopicPlan(topic="t", action=Action.RECREATE, consequences=[loss])
    engine = PreviewResult(ran=True)
    return PlanReport(
        topicwarden="", stack="dev", cluster_id=None, taken_at=0, topics=[topic], unchanged=0, engine=engine
    )


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions; the second one gets the answer no."""
    found: list[str] = []

    def answer(question: str) -> bool:
        found.append(question)
        return len(found) == 1

    monkeypatch.setattr(deploy, "confirmed", answer)
    monkeypatch.setattr("topicwarden.operations.declared_topics.checked_stack", lambda *_: SimpleNamespace(access={}))
    monkeypatch.setattr("topicwarden.operations.find_pulumi.writing_engine_of", lambda *_: None)
    for name in ("find_project", "require_terminal"):
        monkeypatch.setattr(deploy, name, lambda *_, **__: None)
    return found


def test_a_deploy_with_a_loss_that_was_not_confirmed_asks_again(
    questions: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    confirmed: list[Any] = []

    def changed(*_: Any, **options: Any) -> bool:
        confirmed.append(options["confirmed"])
        raise PlanChanged(["t: lost"])

    plans = iter([plan(0), plan(300)])
    monkeypatch.setattr("topicwarden.operations.plan.planned", lambda *_, **__: next(plans))
    monkeypatch.setattr("topicwarden.operations.deploy.deploy_topics", changed)
    assert deploy.up("dev", yes=False) == 0
    assert questions == ["Deploy this?"] * 2
    assert confirmed == [plan(0)]
    assert "the confirmed plan did not show these losses, so nothing was deployed:" in capsys.readouterr().err


@pytest.mark.parametrize(("later", "times"), [(300, 2), (0, 1)])
def test_a_destroy_looks_again_after_the_answer(
    questions: list[str], monkeypatch: pytest.MonkeyPatch, later: int, times: int
) -> None:
    plans, ran = iter([plan(0), plan(later), plan(later)]), list[str]()
    monkeypatch.setattr("topicwarden.operations.deploy.planned_destroy", lambda *_, **__: next(plans))

    def destroyed(*_: object) -> bool:
        ran.append("destroyed")
        return True

    monkeypatch.setattr("topicwarden.operations.deploy._without_program", destroyed)
    assert deploy.destroy("dev", yes=False) == 0
    assert (len(questions), ran) == (times, ["destroyed"] if times == 1 else [])
