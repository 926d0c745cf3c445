"""The plan of a stack as the Pulumi program predicts it, and what is new in it since it was confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from topicwarden import __version__
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import ActiveAllowance, Consequence, PlanReport, PreviewResult, Severity
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


_Key: TypeAlias = tuple[str, str, frozenset[str]]


def new_losses(shown: PlanReport, now: PlanReport) -> list[str]:
    """Return the losses in ``now`` that ``shown`` did not name, or where it said that nothing is lost, one line each.

    A higher count of a loss that was shown is no new loss. Refused consequences count as well.
    """
    before = dict(_losses(shown))
    return [
        f"{key[0]}: {each.message}"
        for key, each in _losses(now)
        if key not in before or _was_nothing(before[key].evidence, each.evidence)
    ]


def _losses(report: PlanReport) -> Iterator[tuple[_Key, Consequence]]:
    for part in report.parts:
        for each in part.consequences:
            if each.severity is not Severity.NOTE:
                # Who or what is concerned, such as a group or a setting, is a text in the evidence; counts are numbers.
                names = frozenset(f"{name} {value}" for name, value in each.evidence.items() if isinstance(value, str))
                yield (part.title, each.kind, names), each


def _was_nothing(before: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Return whether a count that was 0 is larger now."""
    return any(isinstance(value, int | float) and value > 0 and before.get(name) == 0 for name, value in now.items())
