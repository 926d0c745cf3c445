"""The plan of a stack as the Pulumi program predicts it, before the engine's steps are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from topicwarden import __version__
from topicwarden.model.planned_change import ActiveAllowance, PlanReport, PreviewResult, TopicPlan
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.plan.predict import Prediction
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class PredictedStack:
    """A report without the engine's part, and the names of the topics on the cluster."""

    report: PlanReport
    live: frozenset[str]


def predicted_stack(
    stack: str,
    prediction: Prediction,
    declarations: Sequence[Declaration],
    deployed: DeployedStack,
    remark: str | None,
) -> PredictedStack:
    """Return the prediction as a report; ``remark`` is a warning about the cluster, or None."""
    plans, snapshot = prediction.plans, prediction.snapshot
    names = {*deployed.topics, *deployed.duplicates, *(declaration.topic.name for declaration in declarations)}
    report = PlanReport(
        topicwarden=__version__,
        stack=stack,
        cluster_id=snapshot.cluster_id,
        taken_at=snapshot.taken_at,
        topics=list(plans),
        unchanged=len(names - {plan.topic for plan in plans}),
        unseen=list(snapshot.unseen),
        remarks=[*([remark] if remark else []), *prediction.remarks],
        allowances=list(active_allowances(declarations, plans, snapshot.day)),
        engine=PreviewResult(ran=False),
    )
    return PredictedStack(report=report, live=frozenset(snapshot.topics))


def active_allowances(
    declarations: Iterable[Declaration], plans: Iterable[TopicPlan], today: date
) -> tuple[ActiveAllowance, ...]:
    """Return every allowance that is valid on ``today`` (UTC), sorted by topic and change."""
    needed = {(plan.topic, change) for plan in plans for change in plan.needs}
    allowances = (
        ActiveAllowance(
            topic=declaration.topic.name,
            change=allowance.change,
            until=allowance.until,
            needed=(declaration.topic.name, allowance.change) in needed,
            location=declaration.locations.at(("allow",)),
        )
        for declaration in declarations
        for allowance in declaration.topic.allow
        if allowance.valid_on(today)
    )
    return tuple(sorted(allowances, key=lambda each: (each.topic, each.change)))
