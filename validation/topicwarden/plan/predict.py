"""What follows from every change, computed from the live cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.snapshot import PartitionReplicas, Snapshot
from topicwarden.model.planned_change import BY_WEIGHT, Action, Consequence, Severity, TopicPlan
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import Allowance
from topicwarden.plan.consequences import CONSEQUENCES
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.plan.placement.replica_placement import place, settled
from topicwarden.plan.plan_evidence import PlanEvidence, gather, merged
from topicwarden.plan.topic_change import TopicChange, changes
from topicwarden.specs.resolve import Declaration


def predict(
    cluster: Cluster,
    snapshot: Snapshot,
    declarations: Sequence[Declaration],
    deployed: DeployedStack,
) -> tuple[TopicPlan, ...]:
    """Return every topic that is to change, with what follows, sorted by name.

    ``snapshot`` holds at least the topics declared and deployed; ``deployed`` is Pulumi's state.
    """
    snapshot = _without_reassignments(cluster, snapshot, declarations)
    found = changes(declarations, deployed, snapshot)
    needed = {
        change.name: {
            name: needs
            for name, rule in CONSEQUENCES.items()
            if (needs := rule.needs(change, snapshot.taken_at)) is not None
        }
        for change in found
    }
    evidence = gather(cluster, snapshot, {name: merged(needs.values()) for name, needs in needed.items()})
    placement = place((change.declaration for change in found if change.declaration), snapshot)
    created = tuple(change.name for change in found if change.action is Action.CREATE)
    return tuple(
        _plan(change, needed[change.name], replace(evidence[change.name], placement=placement, created=created))
        for change in found
    )


def _without_reassignments(cluster: Cluster, snapshot: Snapshot, declarations: Sequence[Declaration]) -> Snapshot:
    """Return the snapshot with the replicas of each partition that moves before or after that, whichever are more.

    While a partition moves, its metadata has both, which is not its replication factor.
    """
    factors = {held.topic.name: held.topic.replication_factor for held in declarations}
    if not any(len(state.replicas) > factors[name] for name, state in _states(snapshot) if name in factors):
        return snapshot
    places = {(name, state.partition): state.replicas for name, state in _states(snapshot) if name in factors}
    kept = {
        place: tuple(broker for broker in places[place] if broker in max(after, before, key=len))
        for place, (before, after) in cluster.reassigned().items()
        if place in places
    }
    return settled(snapshot, kept)


def _states(snapshot: Snapshot) -> Iterator[tuple[str, PartitionReplicas]]:
    return ((name, state) for name, live in snapshot.topics.items() for state in live.replicas)


def _plan(change: TopicChange, rules: Iterable[str], evidence: PlanEvidence) -> TopicPlan:
    consequences = [one for name in rules for one in CONSEQUENCES[name].evaluate(change, evidence)]
    held = _held(change, consequences)
    return TopicPlan(
        topic=change.name,
        domain=change.declaration.topic.domain if change.declaration else "",
        action=Action.DRIFT if held else change.action,
        settings=list(change.settings),
        consequences=sorted(
            [_as_held(one) for one in consequences] if held else consequences,
            key=lambda one: BY_WEIGHT.index(one.weight),
        ),
        held=held,
        needs=[] if held else sorted(_needs(change, rules, evidence, consequences)),
        place=change.at(),
    )


def _needs(
    change: TopicChange, rules: Iterable[str], evidence: PlanEvidence, consequences: Sequence[Consequence]
) -> Iterable[Allowance]:
    """Yield the permitted changes without which more would be refused."""
    for allowance in change.permitted:
        without = replace(change, permitted=change.permitted - {allowance})
        judged = [one for name in rules for one in CONSEQUENCES[name].evaluate(without, evidence)]
        if _refused(judged) > _refused(consequences):
            yield allowance


def _refused(consequences: Iterable[Consequence]) -> int:
    return sum(one.weight is Severity.REFUSED for one in consequences)


def _held(change: TopicChange, consequences: Iterable[Consequence]) -> bool:
    """Return whether the deploy leaves what was changed by hand.

    The YAML is as last deployed, so that all that would change is put back; and to put it back would lose something
    that the YAML does not allow to lose.
    """
    if change.edited or change.live is None or change.action not in _PUTS_BACK:
        return False
    return any(one.weight is Severity.REFUSED and one.kind in _BY_CONFIG for one in consequences)


def _as_held(consequence: Consequence) -> Consequence:
    if consequence.weight is not Severity.REFUSED or consequence.kind not in _BY_CONFIG:
        return consequence
    return consequence.model_copy(
        update={
            "weight": Severity.DANGER,
            "message": f"it was changed by hand and is left so, as putting back what is declared would lose data: "
            f"{consequence.message}",
            "remedy": "declare it as it is now, or allow the loss by name: "
            + (consequence.remedy.rpartition("write ")[2] or "see the consequence"),
        }
    )


_PUTS_BACK = frozenset({Action.UPDATE, Action.DRIFT, Action.RECREATE})
_BY_CONFIG = frozenset(kind for kind, rule in CONSEQUENCES.items() if rule.AVOIDABLE)
"""Kinds of consequences that do not come about if the deploy leaves the live settings and partitions."""


def refusals(plans: Iterable[TopicPlan]) -> list[Problem]:
    """Return what may not be done, each at the line that asks for it: the guard of preview and deploy."""
    return [
        Problem(_location(plan, consequence), _message(plan.topic, consequence), rule=consequence.kind)
        for plan in plans
        for consequence in plan.consequences
        if consequence.weight is Severity.REFUSED
    ]


def _location(plan: TopicPlan, consequence: Consequence) -> Location:
    found = consequence.place or plan.place
    return Location(found.file, found.line, found.column) if found else Location("Pulumi's state")


def _message(topic: str, consequence: Consequence) -> str:
    because = "".join(f"; {reason}" for reason in consequence.because)
    remedy = f". {consequence.remedy[0].upper()}{consequence.remedy[1:]}" if consequence.remedy else ""
    return f"{topic}: {consequence.message}{because}{remedy}"
