"""The plan of a stack as the Pulumi program predicts it, before the engine's steps are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from topicwarden import __version__
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import ActiveAllowance, PlanReport, PreviewResult
from topicwarden.model.problem import Location
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.model.topic import Allowance
from topicwarden.plan.predict import Prediction
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class PredictedStack:
    """A report without the engine's part, and the names of the topics on the cluster.

    ``live`` lacks topics that a deploy could not create again: what the engine replaces for them is deleted already.
    """

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
    subjects: DeclaredSubjects = NO_SUBJECTS,
) -> PredictedStack:
    """Return the prediction as a report; ``remark`` is a warning about the cluster, or None.

    ``access`` and ``subjects`` are the declared ones.
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
        allowances=list(_active_allowances(prediction, declarations, {**access.allow, **subjects.allow})),
        engine=PreviewResult(ran=False),
    )
    return PredictedStack(report=report, live=frozenset(snapshot.topics) - deployed.uncreated)


def _active_allowances(
    prediction: Prediction, declarations: Iterable[Declaration], by_file: Mapping[str, frozenset[Allowance]]
) -> Iterable[ActiveAllowance]:
    """Yield each allowance that is valid on the day of the snapshot: of other files, ``by_file``, then of topics."""
    needed = {(plan.topic, change) for plan in prediction.plans for change in plan.needs}
    needed |= prediction.access.needed if prediction.access else set()
    needed |= prediction.subjects.needed if prediction.subjects else set()
    files = ((file, None, Location(file, 1, 1), words) for file, words in by_file.items())
    topics = (
        (each.topic.name, each.topic.name, each.locations.at(("allow",)), each.topic.allow) for each in declarations
    )
    for home, topic, location, words in chain(sorted(files, key=itemgetter(0)), sorted(topics, key=itemgetter(0))):
        for allowance in sorted(words, key=lambda each: each.change):
            if allowance.valid_on(prediction.snapshot.day):
                yield ActiveAllowance(
                    topic=topic,
                    change=allowance.change,
                    until=allowance.until,
                    needed=(home, allowance.change) in needed,
                    location=location,
                )
