"""Test which losses a confirmed plan did not show."""

from __future__ import annotations

import pytest

from topicwarden.model.planned_change import (
    AccessPlan,
    Action,
    Consequence,
    PlanReport,
    PreviewResult,
    Severity,
    TopicPlan,
)
from topicwarden.plan.changed_plan import new_losses


def loss(kind: str = "destroyed", severity: Severity = Severity.DANGER, **evidence: int | str | None) -> Consequence:
    return Consequence(kind=kind, severity=severity, message=f"{kind} {evidence}", evidence={**evidence})


def plan(*consequences: Consequence, access: tuple[Consequence, ...] = ()) -> PlanReport:
    return PlanReport(
        topicwarden="",
        stack="dev",
        cluster_id=None,
        taken_at=0,
        topics=[TopicPlan(topic="t", action=Action.RECREATE, consequences=list(consequences))],
        unchanged=0,
        access=AccessPlan(items=[], consequences=list(access)),
        engine=PreviewResult(ran=True),
    )


@pytest.mark.parametrize(
    ("shown", "now", "new"),
    [
        (plan(), plan(), 0),
        (plan(loss(records=5)), plan(loss(records=500)), 0),
        (plan(loss(records=5)), plan(), 0),
        (plan(loss(records=0)), plan(loss(records=300)), 1),
        (plan(loss(records=9, active_groups=0)), plan(loss(records=9, active_groups=1)), 1),
        (plan(), plan(loss(records=300)), 1),
        (plan(loss(severity=Severity.NOTE, records=5)), plan(loss(records=5)), 1),
        (plan(), plan(loss(severity=Severity.NOTE, records=5)), 0),
        (plan(loss(records=5)), plan(loss(records=5), loss("compaction", records=1)), 1),
        (plan(access=(loss("x", group="a"),)), plan(access=(loss("x", group="a"), loss("x", group="b"))), 1),
        (plan(access=(loss("x", group="a", lag=0),)), plan(access=(loss("x", group="a", lag=0),)), 0),
    ],
)
def test_a_loss_that_was_not_shown_is_new_and_a_higher_count_is_not(
    shown: PlanReport, now: PlanReport, new: int
) -> None:
    assert len(new_losses(shown, now)) == new
