"""Predicts the consequences of all changes of a stack from the live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.subject.predict import SubjectPrediction
from topicwarden.kinds.topic.predict import predict_topics
from topicwarden.model.access import NO_ACCESS, DeclaredAccess, LiveAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.message_text import first_of
from topicwarden.model.planned_change import (
    Consequence,
    PlannedPart,
    Severity,
    TopicPlan,
    planned_parts,
    user_sentences,
)
from topicwarden.model.problem import Location, Problem
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.plan.predict_access import AccessPrediction, predict_access
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class Prediction:
    """Every topic that changes, with its consequences, sorted by name; and the snapshot that they follow from.

    ``remarks`` are about all topics. ``access`` and ``subjects`` are None if the stack neither
    declares nor has deployed any; the caller adds ``subjects``.
    """

    plans: tuple[TopicPlan, ...]
    snapshot: Snapshot
    remarks: tuple[str, ...] = ()
    access: AccessPrediction | None = None
    subjects: SubjectPrediction | None = None

    @property
    def parts(self) -> list[PlannedPart]:
        """All that has consequences: topics, access and subjects."""
        return planned_parts(
            self.plans, self.access.plan if self.access else None, self.subjects.plan if self.subjects else None
        )


def predict(
    cluster: Cluster,
    snapshot: Snapshot,
    declarations: Sequence[Declaration],
    deployed: DeployedStack,
    scope: StackScope = EVERY_TOPIC,
    *,
    access: DeclaredAccess = NO_ACCESS,
    live_access: LiveAccess | None = None,
    destroying: bool = False,
    earlier: EarlierUse | None = None,
) -> Prediction:
    """Return the topics that change, and the change of access.

    ``snapshot`` has at least the declared and the deployed topics, and needs no extents: those of the topics that
    change are read here. ``deployed`` is Pulumi's state. ``scope`` is what the stack owns. ``access`` is the declared
    access; ``live_access`` is that of the cluster, if the caller has read it. ``destroying``: nothing is declared,
    because the command deletes the whole stack. ``earlier`` is where earlier observations of use are.
    """
    predicted_access = predict_access(
        cluster,
        snapshot,
        access,
        declarations,
        deployed,
        scope=scope,
        live=live_access,
        destroying=destroying,
        earlier=earlier,
    )
    topics = predict_topics(cluster, snapshot, declarations, deployed, scope, destroying=destroying, earlier=earlier)
    return Prediction(topics.plans, topics.snapshot, topics.remarks, predicted_access)


def refusals(prediction: Prediction) -> list[Problem]:
    """Return the refused consequences as problems, each at the YAML line that causes it; guards preview and deploy."""
    return [
        Problem(_location(each.location or part.location), _message(part.title, each), rule=each.kind)
        for part in prediction.parts
        for each in part.consequences
        if each.severity is Severity.REFUSED
    ]


_MOST_ALIKE: Final = 5
_MOST_NAMES: Final = 20


def refusal_text(problems: Sequence[Problem], stack: str) -> str:
    """Return the ``refusals`` as text for a deploy: of many of one kind, the first, and the names of the others."""
    by_kind: dict[str, list[Problem]] = {}
    for problem in problems:
        by_kind.setdefault(problem.rule, []).append(problem)
    lines: list[str] = []
    for kind, alike in by_kind.items():
        shown = alike if len(alike) <= _MOST_ALIKE else alike[:1]
        lines += map(str, shown)
        if others := [problem.message.partition(": ")[0] for problem in alike[len(shown) :]]:
            named = first_of(others, _MOST_NAMES)
            lines.append(f"{kind} also refuses {named}; `topicwarden plan --stack {stack}` has the reasons")
    return "\n".join(lines)


def _location(location: Location | None) -> Location:
    return Location(location.file, location.line, location.column) if location else Location("Pulumi's state")


def _message(subject: str, consequence: Consequence) -> str:
    reasons = [*consequence.because, *user_sentences(consequence.users)]
    because = "".join(f"; {reason}" for reason in reasons)
    remedy = f". {consequence.advice}" if consequence.remedy else ""
    return f"{subject}: {consequence.message}{because}{remedy}"
