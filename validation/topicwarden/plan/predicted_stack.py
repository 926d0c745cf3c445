"""The plan of a stack as the Pulumi program predicts it, before the engine's steps are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from topicwarden import __version__
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import ActiveAllowance, PlanReport, PreviewResult, TopicPlan
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.predict import Prediction
from topicwarden.plan.predict_access import AccessPrediction
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
    *,
    access: DeclaredAccess = NO_ACCESS,
) -> PredictedStack:
    """Return the prediction as a report; ``remark`` is a warning about the cluster, or None.

    ``access`` is the declared access.
    """
    plans, snapshot = prediction.plans, prediction.snapshot
    names = {*deployed.topics, *deployed.duplicates, *(declaration.topic.name for declaration in declarations)}
    report = PlanReport(
        topicwarden=__version__,
        stack=stack,
        cluster_id=snapshot.cluster_id,
        taken_at=snapshot.taken_at,
        topics=list(plans),
        unchanged=len(names - {plan.topic for plan in plans}),
        access=prediction.access.plan if prediction.access else None,
        registry=prediction.subjects.plan if prediction.subjects else None,
        unseen=[
            *snapshot.unseen,
            *(prediction.access.unseen if prediction.access else ()),
            *(prediction.subjects.unseen if prediction.subjects else ()),
        ],
        remarks=[*([remark] if remark else []), *prediction.remarks],
        allowances=[
            *_allowances_of_access(access, prediction.access, snapshot.day),
            *active_allowances(declarations, plans, snapshot.day, prediction.access),
        ],
        engine=PreviewResult(ran=False),
    )
    return PredictedStack(report=report, live=frozenset(snapshot.topics))


def active_allowances(
    declarations: Iterable[Declaration],
    plans: Iterable[TopicPlan],
    today: date,
    access: AccessPrediction | None = None,
) -> tuple[ActiveAllowance, ...]:
    """Return every allowance of a topic that is valid on ``today`` (UTC), sorted by topic and change."""
    needed: set[tuple[str, AllowedChange]] = {(plan.topic, change) for plan in plans for change in plan.needs}
    needed |= access.needed if access else set()
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
    return tuple(sorted(allowances, key=lambda each: (each.topic or "", each.change)))


def _allowances_of_access(
    declared: DeclaredAccess, access: AccessPrediction | None, today: date
) -> Iterable[ActiveAllowance]:
    """Yield what each file below ``access/`` allows on ``today``, sorted by file and change."""
    for file, words in sorted(declared.allow.items()):
        for allowance in sorted(words, key=lambda each: each.change):
            if allowance.valid_on(today):
                needed = access is not None and (file, allowance.change) in access.needed
                location = Location(file, 1, 1)
                yield ActiveAllowance(
                    topic=None, change=allowance.change, until=allowance.until, needed=needed, location=location
                )
