"""Computes the moves of a stack: new moves, reassignments in progress, and the topics that lose replicas."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka.write.reassignment_admin import OngoingReassignment, PartitionId, ReassignmentSession
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Problem
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import durability_text
from topicwarden.plan.placement.durability import durability_after, durability_now
from topicwarden.plan.placement.replica_placement import (
    ReplicaMove,
    ReplicaPlacement,
    place_replicas,
    with_replicas,
    without_lagging_moves,
)
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class ReplicaReduction:
    """A topic that loses replicas, with a message for the user; ``problem`` is None if the YAML allows the loss."""

    topic: str
    message: str
    problem: Problem | None


def reductions(
    declarations: Iterable[Declaration],
    snapshot: Snapshot,
    moves: Collection[ReplicaMove],
    under_way: Collection[ReplicaMove],
) -> tuple[ReplicaReduction, ...]:
    """Return the topics that have a partition with more replicas than declared, sorted by name.

    ``snapshot`` has the replicas before the reassignments ``under_way``; ``moves`` are the planned moves. `plan`
    refuses the same change as the consequence ``replication-factor``.
    """
    today = snapshot.day
    reduced = []
    for declaration in sorted(declarations, key=lambda each: each.topic.name):
        topic, live = declaration.topic, snapshot.topics.get(declaration.topic.name)
        before = max((len(state.replicas) for state in live.replicas), default=0) if live else 0
        if live is None or before <= topic.replication_factor:
            continue
        all_moves = [move for move in (*moves, *under_way) if move.topic == topic.name]
        fewer = sum(len(move.after) < len(move.before) for move in all_moves)
        before_moves = durability_now(live, snapshot)
        after_moves = durability_after(topic, live, all_moves, snapshot)
        message = (
            f"{topic.name}: replication factor {before} to {topic.replication_factor} drops replicas of "
            f"{counted(fewer, 'partition')}; {durability_text('now', before_moves)}; "
            f"{durability_text('then', after_moves)}"
        )
        allowed = AllowedChange.REDUCE_REPLICAS in topic.allowed(today)
        started = any(len(move.after) < len(move.before) for move in under_way if move.topic == topic.name)
        reduced.append(
            ReplicaReduction(topic.name, message, None if allowed else _refused(declaration, message, started))
        )
    return tuple(reduced)


def _refused(declaration: Declaration, message: str, started: bool) -> Problem:
    in_progress = (
        "; a reassignment in progress already drops them, `topicwarden rebalance --cancel` cancels it"
        if started
        else ""
    )
    return Problem(
        declaration.locations.at(("replication_factor",)),
        f"{message}{in_progress}. Keep the replicas; if the loss is intended, write "
        f"{AllowedChange.REDUCE_REPLICAS.line} into the topic's YAML",
        rule="replication-factor",
    )


@dataclass(frozen=True)
class Targets:
    """The moves to start, the reassignments in progress, and the topics that lose replicas.

    ``placement`` has no moves of a topic whose YAML does not allow fewer replicas; ``placement.problems`` reports it.
    ``missing`` are the declared topics that the cluster does not have, sorted.
    """

    placement: ReplicaPlacement
    under_way: tuple[ReplicaMove, ...]
    reductions: tuple[ReplicaReduction, ...]
    missing: tuple[str, ...] = ()


def targets(session: ReassignmentSession, topics: Collection[str], declarations: Sequence[Declaration]) -> Targets:
    """Return the placement of ``declarations``, and the reassignments of ``topics`` that already lead to it."""
    snapshot = session.cluster.snapshot(expected=[declaration.topic.name for declaration in declarations])
    ongoing = {
        partition: state for partition, state in session.reassignment.ongoing().items() if partition[0] in topics
    }
    before = with_replicas(snapshot, {partition: state.before for partition, state in ongoing.items()})
    after = with_replicas(snapshot, {partition: state.target for partition, state in ongoing.items()})

    def plan(selected: Iterable[Declaration]) -> tuple[ReplicaPlacement, tuple[ReplicaMove, ...]]:
        placement = place_replicas((each for each in selected if each.topic.name in after.topics), after)
        moves = tuple(
            replace(move, before=ongoing[move.partition_id].before) if move.partition_id in ongoing else move
            for move in placement.moves
        )
        replaced = {move.partition_id for move in moves}
        under_way = (
            _move(snapshot, partition, state)
            for partition, state in sorted(ongoing.items())
            if partition not in replaced
        )
        return without_lagging_moves(replace(placement, moves=moves), snapshot), tuple(under_way)

    placement, under_way = plan(declarations)
    reduced = reductions(declarations, before, placement.moves, under_way)
    refused = {reduction.topic: reduction.problem for reduction in reduced if reduction.problem is not None}
    if refused:
        # The replicas that now stay are load, so the other topics are placed again.
        placement, under_way = plan(each for each in declarations if each.topic.name not in refused)
        placement = replace(placement, problems=tuple(sorted((*placement.problems, *refused.values()))))
    hidden = [_hidden(each) for each in declarations if each.topic.name in snapshot.hidden]
    names = {declaration.topic.name for declaration in declarations}
    missing = tuple(sorted(names - snapshot.topics.keys() - snapshot.hidden))
    problems = tuple(sorted((*placement.problems, *hidden)))
    return Targets(replace(placement, problems=problems), under_way, reduced, missing)


def _hidden(declaration: Declaration) -> Problem:
    message = (
        f"{declaration.topic.name}: the brokers do not report whether the topic exists, so its replicas are not known: "
        "grant Describe on the topic"
    )
    return Problem(declaration.locations.at(()), message, "unseen")


def _move(snapshot: Snapshot, partition_id: PartitionId, ongoing: OngoingReassignment) -> ReplicaMove:
    topic, partition = partition_id
    live = snapshot.topics.get(topic)
    extent = live.extents.get(partition) if live is not None else None
    size = extent.log_bytes if extent is not None else None
    return ReplicaMove(topic, partition, ongoing.before, ongoing.target, ongoing.before[0], size)
