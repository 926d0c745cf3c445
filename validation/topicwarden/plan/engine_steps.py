"""Compares the engine's own steps with the plan, and refuses steps on topics that the plan does not predict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.model.planned_change import Action, Consequence, Severity, TopicPlan


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


def _predicted(step: EngineStep, plan: TopicPlan | None, live: Collection[str]) -> bool:
    if step.topic not in live and step.op in _CREATES:
        return True
    return plan is not None and step.op in _PREDICTED.get(plan.action, ())


def _refusal(step: EngineStep) -> Consequence:
    return Consequence(
        kind="unpredicted-step",
        severity=Severity.REFUSED,
        message=f"the engine would {step.op} the topic ({step.urn}), and nothing in the YAML, in Pulumi's state or on "
        "the cluster explains why: the effect on its records is not known",
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
