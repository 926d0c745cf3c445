"""Predicts the consequences of all changes of topics from the live cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.topic.change import TopicChange, changes
from topicwarden.kinds.topic.consequences import CONSEQUENCES
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, gather, union
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import Action, Consequence, Severity, TopicPlan, most_severe_first
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.change_guard import needed_allowances
from topicwarden.plan.consequence_text import shorten
from topicwarden.plan.earlier_use import EarlierUse, planned_use
from topicwarden.plan.placement.replica_placement import place_replicas, with_replicas
from topicwarden.plan.recent_use import with_recent_use
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_scope import StackScope


@dataclass(frozen=True)
class TopicPrediction:
    """The plans of the topics that change, sorted by name, the snapshot that they follow from, and remarks."""

    plans: tuple[TopicPlan, ...]
    snapshot: Snapshot
    remarks: tuple[str, ...]


def predict_topics(
    cluster: Cluster,
    snapshot: Snapshot,
    declarations: Sequence[Declaration],
    deployed: DeployedStack,
    scope: StackScope,
    *,
    destroying: bool,
    earlier: EarlierUse | None,
) -> TopicPrediction:
    """Return the topics that change, with their consequences. For the arguments, see ``plan.predict.predict``."""
    snapshot = _without_reassignments(snapshot)
    topic_changes = changes(declarations, deployed, snapshot, scope)
    declared = [change.declaration for change in topic_changes if change.declaration]
    # Sizes of all logs decide between brokers, but only if something moves.
    moving = place_replicas(declared, snapshot).moves
    losing = [change.name for change in topic_changes if not change.as_live]
    snapshot = cluster.with_extents(snapshot, snapshot.topics if moving else losing)
    topic_changes = tuple(
        replace(change, live=snapshot.topics.get(change.name), destroying=destroying) for change in topic_changes
    )
    needed = {
        change.name: {
            name: needs
            for name, rule in CONSEQUENCES.items()
            if (needs := rule.needs(change, snapshot.taken_at)) is not None
        }
        for change in topic_changes
    }
    required = {name: union(needs.values()) for name, needs in needed.items()}
    evidence = gather(cluster, snapshot, required, partial(planned_use, earlier))
    placement = place_replicas(declared, snapshot)
    created = tuple(change.name for change in topic_changes if change.action is Action.CREATE)
    plans = tuple(
        _plan(change, needed[change.name], replace(evidence[change.name], placement=placement, created=created))
        for change in topic_changes
    )
    return TopicPrediction(plans, snapshot, tuple(_remarks([*evidence.values()])))


def _remarks(evidence: Sequence[PlanEvidence]) -> Iterable[str]:
    if groups := sorted({group for each in evidence for group in each.share_groups}):
        named = shorten(groups)
        yield f"the cluster has share groups ({named}), but no broker reports which topics they read, and how far"
    yield from dict.fromkeys(remark for each in evidence for remark in each.use_remarks)


def _without_reassignments(snapshot: Snapshot) -> Snapshot:
    """Return ``snapshot`` with the replicas of moving partitions as before or after the move, whichever are more.

    While a partition moves, its metadata lists both sets of replicas, so it does not show the replication factor.
    """
    replicas = {
        (name, state.partition): max(state.target, state.settled, key=len)
        for name, live in snapshot.topics.items()
        for state in live.replicas
        if state.adding or state.removing
    }
    return with_replicas(snapshot, replicas)


def _plan(change: TopicChange, rules: Mapping[str, RequiredEvidence], evidence: PlanEvidence) -> TopicPlan:
    consequences = _consequences(change, rules, evidence)
    drift_left = _leaves_drift(change, consequences)
    if drift_left:
        left = replace(change, held=True)
        consequences = [
            _as_left(each, _allowance_for(each, left, rules, evidence))
            if _refuses_revert(each)
            else _of_a_revert(each, "reverting the drift would mean")
            for each in _consequences(left, rules, evidence)
        ]
    elif change.action is Action.DRIFT:
        consequences = [
            _of_a_revert(each, "`topicwarden up --refresh` would revert the drift") for each in consequences
        ]
    return TopicPlan(
        topic=change.name,
        domain=change.declaration.topic.domain if change.declaration else "",
        action=Action.DRIFT if drift_left else change.action,
        settings=list(change.settings),
        consequences=most_severe_first(consequences),
        held=drift_left,
        needs=[] if drift_left else sorted(word for _, word in _needed(change, rules, evidence, consequences)),
        location=change.at(),
    )


def _consequences(
    change: TopicChange, rules: Mapping[str, RequiredEvidence], evidence: PlanEvidence
) -> list[Consequence]:
    return [
        with_recent_use(consequence, evidence.use) if required.use else consequence
        for name, required in rules.items()
        for consequence in CONSEQUENCES[name].evaluate(change, evidence)
    ]


def _needed(
    change: TopicChange,
    rules: Mapping[str, RequiredEvidence],
    evidence: PlanEvidence,
    consequences: Sequence[Consequence],
) -> frozenset[tuple[str, AllowedChange]]:
    return needed_allowances(
        {change.name: change.allowed},
        consequences,
        lambda _, words: _consequences(replace(change, allowed=words), rules, evidence),
    )


def _allowance_for(
    consequence: Consequence, change: TopicChange, rules: Mapping[str, RequiredEvidence], evidence: PlanEvidence
) -> AllowedChange | None:
    """Return the allowance without which ``consequence`` is refused; None if no allowance has this effect."""
    for allowance in AllowedChange:
        allowed = _consequences(replace(change, allowed=change.allowed | {allowance}), rules, evidence)
        if not any(each.severity is Severity.REFUSED and each.kind == consequence.kind for each in allowed):
            return allowance
    return None


def _leaves_drift(change: TopicChange, consequences: Iterable[Consequence]) -> bool:
    """Return whether the deploy leaves manual changes as they are.

    This is so if the YAML has not changed since the last deploy, and reverting the manual changes would cause a loss
    that the YAML does not allow.
    """
    if change.edited or change.live is None or change.action not in _REVERTING:
        return False
    return any(map(_refuses_revert, consequences))


def _refuses_revert(consequence: Consequence) -> bool:
    """Return whether ``consequence`` is refused, and does not occur if the deploy leaves manual changes."""
    return consequence.severity is Severity.REFUSED and consequence.kind in _BY_CONFIG


def _of_a_revert(consequence: Consequence, revert: str) -> Consequence:
    """Return a danger or note of reverting a manual change, which the deploy leaves, as a note on ``revert``."""
    if consequence.severity is Severity.REFUSED or consequence.kind in _OF_DRIFT:
        return consequence
    message = f"{revert}: {consequence.message}"
    return consequence.model_copy(update={"severity": Severity.NOTE, "message": message})


def _as_left(consequence: Consequence, allowance: AllowedChange | None) -> Consequence:
    """Return a refused consequence of reverting a manual change as a danger of the change, which the deploy leaves.

    ``allowance`` is the one that would allow the loss.
    """
    return consequence.model_copy(
        update={
            "severity": Severity.DANGER,
            "message": "it has drifted and stays as it is, because reverting it to the declared value would "
            f"lose data: {consequence.message}",
            "remedy": "declare it as it is now"
            + (f", or allow the loss: write {allowance.line} into the topic's YAML" if allowance else ""),
        }
    )


_REVERTING = frozenset({Action.UPDATE, Action.DRIFT, Action.RECREATE})
_OF_DRIFT = frozenset({"drift", "missing", "replication-factor", "duplicate"})
"""Kinds of consequences that a deploy has although it leaves manual changes as they are."""
_BY_CONFIG = frozenset(kind for kind, rule in CONSEQUENCES.items() if rule.AVOIDABLE)
"""Kinds of consequences that do not occur if the deploy leaves the live settings and partitions as they are."""
