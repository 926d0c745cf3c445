"""The dangers of a deploy, as lines for `pulumi up` and the policy pack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.model.planned_change import AccessPlan, Action, Consequence, RegistryPlan, Severity, TopicPlan
from topicwarden.plan.consequence_text import shorten

MOST: Final = 100
"""Largest number of dangers listed for a deploy; one more line counts the others."""

_BY_REBALANCE: Final = "replication-factor"


def dangers(
    plans: Iterable[TopicPlan], stack: str, access: AccessPlan | None = None, registry: RegistryPlan | None = None
) -> list[str]:
    """Return a line for each danger, sorted by topic, including replicas that a deploy leaves to `rebalance`.

    Those of ``access`` come first, and those of ``registry`` last, with the subjects that cannot be deployed now.
    """
    lines = [
        *sorted(_line("access", each) for each in (access.consequences if access else ()) if _is_danger(each)),
        *sorted(_line(plan.topic, each) for plan in plans for each in plan.consequences if _is_danger(each)),
        *(_of_registry(registry) if registry else ()),
    ]
    more = len(lines) - MOST
    if more > 0:
        lines[MOST:] = [f"and {more:,} more: see `topicwarden plan --stack {stack}`"]
    return lines


def drift_line(plans: Iterable[TopicPlan], stack: str) -> str | None:
    """Return a warning about the manual changes of topics that a deploy leaves; None if it leaves none."""
    drifted = [
        f"{plan.topic} ({', '.join(_changed_by_hand(plan))})"
        for plan in plans
        if plan.action is Action.DRIFT and any(each.kind == "drift" for each in plan.consequences)
    ]
    if not drifted:
        return None
    return (
        f"{shorten(drifted)}: changed by hand, and this deploy leaves it; `topicwarden up --refresh --stack {stack}` "
        "reverts it"
    )


def _changed_by_hand(plan: TopicPlan) -> Iterable[str]:
    names = {each.evidence.get("setting") for each in plan.consequences if each.kind == "drift"}
    for setting in plan.settings:
        if setting.name in names:
            declared = "not declared" if setting.declared is None else f"declared {setting.declared}"
            yield f"{setting.name} is {setting.live}, {declared}"


def _of_registry(registry: RegistryPlan) -> Iterable[str]:
    yield from (_line("Schema Registry", each) for each in registry.consequences)
    for subject in registry.subjects:
        yield from (_line(f"subject {subject.subject}", each) for each in subject.consequences if _is_danger(each))


def _is_danger(consequence: Consequence) -> bool:
    return consequence.severity is Severity.DANGER or consequence.kind == _BY_REBALANCE


def _line(subject: str, consequence: Consequence) -> str:
    return f"{subject}: {' '.join(consequence.message.split())} [{consequence.kind}]"
