"""What follows from every change, computed from the live cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from topicwarden.change import BY_WEIGHT, Action, Consequence, TopicPlan, Weight
from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.snapshot import Snapshot
from topicwarden.plan.change import Change, changes
from topicwarden.plan.consequences import CONSEQUENCES
from topicwarden.plan.deployed import Deployed
from topicwarden.plan.evidence import Evidence, gather, merged
from topicwarden.plan.placement import place
from topicwarden.problem import Location, Problem
from topicwarden.specs.resolve import Declaration


def foresee(
    cluster: Cluster,
    snapshot: Snapshot,
    declarations: Sequence[Declaration],
    deployed: Mapping[str, Deployed],
) -> tuple[TopicPlan, ...]:
    """Every topic that is to change, with what follows, sorted by name.

    ``snapshot`` holds at least the topics declared and deployed; ``deployed`` is Pulumi's state.
    """
    found = changes(declarations, deployed, snapshot)
    asked = {
        change.name: {
            name: asks
            for name, module in CONSEQUENCES.items()
            if (asks := module.asks(change, snapshot.taken_at)) is not None
        }
        for change in found
    }
    evidence = gather(cluster, snapshot, {name: merged(asks.values()) for name, asks in asked.items()})
    placement = place((change.declaration for change in found if change.declaration), snapshot)
    created = tuple(change.name for change in found if change.action is Action.CREATE)
    return tuple(
        _plan(change, asked[change.name], replace(evidence[change.name], placement=placement, created=created))
        for change in found
    )


def _plan(change: Change, wanted: Iterable[str], evidence: Evidence) -> TopicPlan:
    consequences = [one for name in wanted for one in CONSEQUENCES[name].foretell(change, evidence)]
    return TopicPlan(
        topic=change.name,
        domain=change.declaration.topic.domain if change.declaration else "",
        action=change.action,
        settings=list(change.settings),
        consequences=sorted(consequences, key=lambda one: BY_WEIGHT.index(one.weight)),
        place=change.at(),
    )


def refusals(plans: Iterable[TopicPlan]) -> list[Problem]:
    """What may not be done, each at the line that asks for it, or at ``topics/``: the guard of preview and deploy."""
    return [
        Problem(_location(plan, consequence), _said(plan.topic, consequence), rule=consequence.kind)
        for plan in plans
        for consequence in plan.consequences
        if consequence.weight is Weight.REFUSED
    ]


def _location(plan: TopicPlan, consequence: Consequence) -> Location:
    found = consequence.place or plan.place
    return Location(found.file, found.line, found.column) if found else Location("topics/")


def _said(topic: str, consequence: Consequence) -> str:
    because = "".join(f"; {reason}" for reason in consequence.because)
    remedy = f". {consequence.remedy[0].upper()}{consequence.remedy[1:]}" if consequence.remedy else ""
    return f"{topic}: {consequence.message}{because}{remedy}"
