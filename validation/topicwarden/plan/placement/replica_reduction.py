"""Finds declared topics that would lose replicas by a rebalance, and checks whether their YAML allows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Problem
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import durability_text
from topicwarden.plan.placement.durability import durability_after, durability_now
from topicwarden.plan.placement.replica_placement import ReplicaMove
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
        f"`allow: [{AllowedChange.REDUCE_REPLICAS.value}]` into the topic's YAML",
        rule="replication-factor",
    )
