"""Compares the engine's own steps with the plan, and refuses steps that the plan does not predict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.model.planned_change import AccessPlan, Action, Consequence, RegistryPlan, Severity, TopicPlan


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
        return self.urn.rpartition("::")[2]


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


def with_unpredicted_access(
    plan: AccessPlan | None,
    steps: Iterable[EngineStep],
    declared: Collection[str],
    deployed: Collection[str],
) -> AccessPlan | None:
    """Return ``plan`` with a refusal for each of the ``steps`` on access that it does not predict.

    ``declared`` and ``deployed`` are the names of the resources that the YAML declares, and that Pulumi's state has.
    """
    refused = {each.evidence.get("urn") for each in plan.consequences} if plan else set()
    refusals = [
        _access_refusal(step)
        for step in steps
        if step.urn not in refused and not _predicted_access(step, declared, deployed)
    ]
    if not refusals:
        return plan
    plan = plan or AccessPlan(items=[])
    return plan.model_copy(update={"consequences": [*refusals, *plan.consequences]})


def with_unpredicted_subjects(plan: RegistryPlan | None, steps: Iterable[EngineStep]) -> RegistryPlan | None:
    """Return ``plan`` with a refusal for each of the ``steps`` on subjects that it does not predict.

    An update that the plan does not predict changes Pulumi's state only, such as what the YAML allows. No step deletes
    a subject that its YAML does not allow to delete.
    """
    planned = {subject.subject for subject in plan.subjects} if plan else set()
    unpredicted = [step for step in steps if step.name not in planned and step.op != "update"]
    if not unpredicted:
        return plan
    plan = plan or RegistryPlan(subjects=[])
    refusals = [_subject_refusal(step) for step in unpredicted]
    return plan.model_copy(update={"consequences": [*refusals, *plan.consequences]})


def _subject_refusal(step: EngineStep) -> Consequence:
    return _unpredicted(step, "a subject", "nothing in the YAML, in Pulumi's state or in the registry explains why")


def _predicted_access(step: EngineStep, declared: Collection[str], deployed: Collection[str]) -> bool:
    if step.name in declared:
        return step.op in (("update",) if step.name in deployed else ("create", "import"))
    return step.op == "delete" and step.name in deployed


def _access_refusal(step: EngineStep) -> Consequence:
    unexplained = "nothing in the YAML or in Pulumi's state explains why: who gains or loses it is not known"
    return _unpredicted(step, "access", unexplained)


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
