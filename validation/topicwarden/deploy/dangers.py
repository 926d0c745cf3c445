"""The dangers of a deploy, as lines for `pulumi up` and the policy pack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from topicwarden.kinds.subject.predict import OF_REGISTRY
from topicwarden.model.message_text import counted_more
from topicwarden.model.planned_change import (
    AccessItem,
    AccessKind,
    Action,
    PlannedPart,
    PlanSection,
    Severity,
    TopicPlan,
)
from topicwarden.plan.consequence_text import shorten, spelled

MOST: Final = 100
"""Largest number of dangers listed for a deploy; one more line counts the others."""

_LEFT_UNDONE: Final = ("replication-factor", *OF_REGISTRY)
"""Kinds of consequences that only say what the deploy does not do."""


def dangers(parts: Iterable[PlannedPart], stack: str) -> list[str]:
    """Return a line for each danger of a part of the plan, sorted by section and part.

    These include replicas that a deploy leaves to `rebalance`, and subjects that it cannot write now.
    """
    found = [
        ([*PlanSection].index(part.section), f"{part.title}: {' '.join(each.message.split())} [{each.kind}]")
        for part in parts
        for each in part.consequences
        if each.severity is Severity.DANGER or each.kind in _LEFT_UNDONE
    ]
    lines = [line for _, line in sorted(found)]
    if len(lines) > MOST:
        lines[MOST:] = [f"and {counted_more(len(lines) - MOST)}: see `topicwarden plan --stack {stack}`"]
    return lines


def drift_line(plans: Iterable[TopicPlan], stack: str, *, reverts: bool) -> str | None:
    """Return a line about the manual changes of declared settings, which a deploy leaves or ``reverts``; None without.

    A setting that was never declared is not of this stack: no deploy changes it. A topic whose changes no deploy
    reverts, because that would lose data, is a danger.
    """
    drifted = [
        f"{plan.topic} ({', '.join(changed)})"
        for plan in plans
        if plan.action is Action.DRIFT and not plan.held and (changed := [*_changed_by_hand(plan)])
    ]
    return _changes(drifted, stack, reverts=reverts)


def access_drift_line(items: Iterable[AccessItem], stack: str, *, reverts: bool) -> str | None:
    """Return a line about the manual changes of declared access, which a deploy leaves or ``reverts``; None without.

    What is gone has a line of its own, and so has a credential, which is a danger: see ``credential-replaced``.
    """
    drifted = [
        f"{each.kind} of {each.name} ({each.before}, declared {each.after})"
        for each in items
        if each.action is Action.DRIFT and each.before is not None and each.kind is not AccessKind.SCRAM_USER
    ]
    return _changes(drifted, stack, reverts=reverts)


def _changes(drifted: Sequence[str], stack: str, *, reverts: bool) -> str | None:
    if not drifted:
        return None
    if reverts:
        return f"{shorten(drifted)}: changed by hand, and this deploy reverts it"
    return (
        f"{shorten(drifted)}: changed by hand, and this deploy leaves it; `topicwarden up --refresh --stack {stack}` "
        "reverts it"
    )


def _changed_by_hand(plan: TopicPlan) -> Iterable[str]:
    names = {each.evidence.get("setting") for each in plan.consequences if each.kind == "drift"}
    for setting in plan.settings:
        if setting.name in names and not (setting.declared is None and setting.deployed is None):
            name, value = setting.name, setting.declared
            declared = "not declared" if value is None else f"declared {spelled(name, value)}"
            yield f"{name} is {spelled(name, setting.live)}, {declared}"
