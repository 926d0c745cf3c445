"""Compares the engine's own steps with the plan, and refuses steps that the plan does not predict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from topicwarden.model.deployed_stack import ResourceUrn
from topicwarden.model.planned_change import (
    AccessPlan,
    Action,
    Consequence,
    PlanReport,
    PlanSection,
    RegistryPlan,
    Severity,
    TopicPlan,
)


@dataclass(frozen=True)
class EngineStep:
    """A step of `pulumi preview --json` on one resource.

    ``op`` is Pulumi's, such as ``same`` and ``delete-replaced``. ``properties`` are inputs and outputs of the old
    state, or of the new one if there is no old one.
    """

    op: str
    urn: str
    type: str
    parent: str | None = None
    id: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        """The name of the topic, if the resource is one."""
        return str(self.properties.get("name") or self.id)

    @property
    def name(self) -> str:
        """The name of the resource in Pulumi."""
        return ResourceUrn(self.urn).name


class ResourceNames(NamedTuple):
    """The names of the resources of a section of the plan: those that the YAML declares, and those in the state."""

    declared: frozenset[str] = frozenset()
    deployed: frozenset[str] = frozenset()


NO_NAMES: Final = ResourceNames()


def with_unpredicted_steps(
    report: PlanReport,
    steps: Mapping[PlanSection, Sequence[EngineStep]],
    names: Mapping[PlanSection, ResourceNames],
    live: Collection[str],
) -> PlanReport:
    """Return ``report`` with a refusal for each of the ``steps`` that it does not predict; see ``with_unpredicted``."""
    access = steps.get(PlanSection.ACCESS, ()), names.get(PlanSection.ACCESS, NO_NAMES), _ACCESS
    subjects = steps.get(PlanSection.REGISTRY, ()), names.get(PlanSection.REGISTRY, NO_NAMES), _SUBJECTS
    return report.model_copy(
        update={
            "topics": list(with_unpredicted(report.topics, steps.get(PlanSection.TOPICS, ()), live)),
            "access": _with_unpredicted_resources(report.access or AccessPlan(items=[]), *access) or report.access,
            "registry": _with_unpredicted_resources(report.registry or RegistryPlan(subjects=[]), *subjects)
            or report.registry,
        }
    )


def with_unpredicted(
    plans: Iterable[TopicPlan], steps: Iterable[EngineStep], live: Collection[str]
) -> tuple[TopicPlan, ...]:
    """Return ``plans`` with a refusal for each of the ``steps`` on topics that they do not predict, sorted by topic.

    ``live`` are the topics on the cluster: creating a missing topic removes nothing. A topic that is already refused
    gets no second refusal.
    """
    by_topic = {plan.topic: plan for plan in plans}
    for step in steps:
        plan = by_topic.get(step.topic)
        if _predicted(step, plan, live) or (plan is not None and plan.severity is Severity.REFUSED):
            continue
        plan = plan or TopicPlan(topic=step.topic, action=_ACTIONS.get(step.op, Action.UPDATE))
        by_topic[step.topic] = plan.model_copy(update={"consequences": [_refusal(step), *plan.consequences]})
    return tuple(by_topic[name] for name in sorted(by_topic))


_Plan = TypeVar("_Plan", AccessPlan, RegistryPlan)
_ACCESS: Final = (
    "access",
    "nothing in the YAML or in Pulumi's state explains why: who gains or loses it is not known",
)
_SUBJECTS: Final = ("a subject", "nothing in the YAML, in Pulumi's state or in the registry explains why")


def _with_unpredicted_resources(
    plan: _Plan, steps: Iterable[EngineStep], names: ResourceNames, words: tuple[str, str]
) -> _Plan | None:
    """Return ``plan`` with a refusal for each of the ``steps`` that it does not predict; None if it predicts all.

    An update is predicted for whatever is declared and deployed: it may only change what the state records.
    """
    refused = {each.evidence.get("urn") for each in plan.consequences}
    refusals: list[Consequence] = [
        _unpredicted(step, *words) for step in steps if step.urn not in refused and not _predicted_resource(step, names)
    ]
    return plan.model_copy(update={"consequences": [*refusals, *plan.consequences]}) if refusals else None


def _predicted_resource(step: EngineStep, names: ResourceNames) -> bool:
    if step.name in names.declared:
        return step.op in (("update",) if step.name in names.deployed else ("create", "import"))
    return step.op == "delete" and step.name in names.deployed


def _predicted(step: EngineStep, plan: TopicPlan | None, live: Collection[str]) -> bool:
    if step.topic not in live and step.op in _CREATES:
        return True
    return plan is not None and step.op in _PREDICTED.get(plan.action, ())


def _refusal(step: EngineStep) -> Consequence:
    return _unpredicted(
        step,
        "the topic",
        "nothing in the YAML, in Pulumi's state or on the cluster explains why: the effect on its records is not known",
    )


def _unpredicted(step: EngineStep, noun: str, unexplained: str) -> Consequence:
    """Return the refusal of a step on ``noun`` that the plan does not predict; ``unexplained`` says what is missing."""
    return Consequence(
        kind="unpredicted-step",
        severity=Severity.REFUSED,
        message=f"the engine would {step.op} {noun} ({step.urn}), and {unexplained}",
        measured="the steps of `pulumi preview --json`",
        remedy="look at `pulumi preview --diff`, and do not deploy before you understand the step",
        evidence={"step": step.op, "urn": step.urn},
    )


_REPLACES: Final = ("replace", "create-replacement", "delete-replaced", "discard-replaced", "import-replacement")
_CREATES: Final = frozenset({"create", "create-replacement", "replace", "remove-pending-replace"})
_PREDICTED: Final[Mapping[Action, Sequence[str]]] = {
    Action.CREATE: ("create",),
    # An import may be followed by an update, which only sets declared values that were in effect already.
    Action.ADOPT: ("import", "update"),
    Action.UPDATE: ("update",),
    Action.RECREATE: ("replace", "create-replacement", "delete-replaced"),
    Action.DELETE: ("delete",),
}
_ACTIONS: Final[Mapping[str, Action]] = {
    "create": Action.CREATE,
    "import": Action.ADOPT,
    "delete": Action.DELETE,
    "discard": Action.DELETE,
    **dict.fromkeys(_REPLACES, Action.RECREATE),
}
