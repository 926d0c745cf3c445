"""What is to be moved on a cluster, and what moves there already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from topicwarden.kafka.reassignment_admin import OngoingReassignment, Place, ReassignmentSession
from topicwarden.kafka.snapshot import Snapshot
from topicwarden.plan.placement.replica_placement import ReplicaMove, ReplicaPlacement, place, settled, wait_for_lagging
from topicwarden.plan.placement.replica_reduction import ReplicaReduction, reductions
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class Targets:
    """What to move, what moves already, and which topics lose replicas by that.

    ``placement`` has no moves of a topic that would lose replicas and may not: ``placement.problems`` says so.
    """

    placement: ReplicaPlacement
    under_way: tuple[ReplicaMove, ...]
    reductions: tuple[ReplicaReduction, ...]


def targets(movable: ReassignmentSession, topics: Collection[str], declarations: Sequence[Declaration]) -> Targets:
    """Return the placement of ``declarations``, and the reassignments of ``topics`` that lead there already."""
    snapshot = movable.cluster.snapshot()
    ongoing = {held: state for held, state in movable.reassignment.ongoing().items() if held[0] in topics}
    before = settled(snapshot, {held: state.before for held, state in ongoing.items()})
    after = settled(snapshot, {held: state.target for held, state in ongoing.items()})

    def placed(chosen: Iterable[Declaration]) -> tuple[ReplicaPlacement, tuple[ReplicaMove, ...]]:
        found = place(chosen, after)
        moves = tuple(
            replace(move, before=ongoing[held].before) if (held := (move.topic, move.partition)) in ongoing else move
            for move in found.moves
        )
        anew = {(move.topic, move.partition) for move in moves}
        under_way = (_move(snapshot, held, state) for held, state in sorted(ongoing.items()) if held not in anew)
        return wait_for_lagging(replace(found, moves=moves), snapshot), tuple(under_way)

    placement, under_way = placed(declarations)
    reduced = reductions(declarations, before, placement.moves, under_way)
    refused = {one.topic: one.problem for one in reduced if one.problem is not None}
    if refused:
        # The others are placed anew, as the replicas that stay are load.
        placement, under_way = placed(each for each in declarations if each.topic.name not in refused)
        placement = replace(placement, problems=tuple(sorted((*placement.problems, *refused.values()))))
    return Targets(placement, under_way, reduced)


def _move(snapshot: Snapshot, place: Place, ongoing: OngoingReassignment) -> ReplicaMove:
    topic, partition = place
    live = snapshot.topics.get(topic)
    extent = live.extents.get(partition) if live is not None else None
    size = extent.log_bytes if extent is not None else None
    return ReplicaMove(topic, partition, ongoing.before, ongoing.target, ongoing.before[0], size)
