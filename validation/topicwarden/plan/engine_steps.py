"""Compares the engine's own steps with the plan, and refuses steps on topics that the plan does not predict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.model.planned_change import Action, Consequence, Severity, TopicPlan


@dataclass(frozen=True)
class TopicStep:
    """One step of `pulumi preview --json` on a topic: Pulumi's ``op``, such as ``delete-replaced``."""

    topic: str
    op: str
    urn: str


def with_unpredicted(
    plans: Iterable[TopicPlan], steps: Iterable[TopicStep], live: Collection[str]
) -> tuple[TopicPlan, ...]:
    """Return ``plans`` with a refusal for each step that they do not predict, sorted by topic.

    ``live`` are the topics on the cluster: creating a missing topic removes nothing. A topic that is already refused
    gets no second refusal.
    """
    by_topic = {plan.topic: plan for plan in plans}
    for step in steps:
        plan = by_topic.get(step.topic)
        if _predicted(step, plan, live) or (plan is not None and plan.weight is Severity.REFUSED):
            continue
        plan = plan or TopicPlan(topic=step.topic, action=_ACTIONS.get(step.op, Action.UPDATE))
        by_topic[step.topic] = plan.model_copy(update={"consequences": [_refusal(step), *plan.consequences]})
    return tuple(by_topic[name] for name in sorted(by_topic))


def _predicted(step: TopicStep, plan: TopicPlan | None, live: Collection[str]) -> bool:
    if step.topic not in live and step.op in _CREATES:
        return True
    return plan is not None and step.op in _PREDICTED.get(plan.action, ())


def _refusal(step: TopicStep) -> Consequence:
    return Consequence(
        kind="unpredicted-step",
        weight=Severity.REFUSED,
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
