"""What is to be moved on a cluster, and what moves there already."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from topicwarden.kafka.reassignment import Movable, Ongoing, Place
from topicwarden.kafka.snapshot import Snapshot
from topicwarden.plan.placement import Move, Placement, place, settled
from topicwarden.specs.resolve import Declaration


def targets(
    movable: Movable, topics: Collection[str], declarations: Sequence[Declaration]
) -> tuple[Placement, list[Move]]:
    """The placement of ``declarations``; and the moves of any of ``topics`` that lead to where they belong already."""
    snapshot = movable.cluster.snapshot()
    ongoing = {held: state for held, state in movable.reassignment.ongoing().items() if held[0] in topics}
    placed = place(declarations, settled(snapshot, {held: state.target for held, state in ongoing.items()}))
    moves = tuple(
        replace(move, before=ongoing[held].before) if (held := (move.topic, move.partition)) in ongoing else move
        for move in placed.moves
    )
    anew = {(move.topic, move.partition) for move in moves}
    under_way = [_move(snapshot, held, state) for held, state in sorted(ongoing.items()) if held not in anew]
    return replace(placed, moves=moves), under_way


def _move(snapshot: Snapshot, place: Place, ongoing: Ongoing) -> Move:
    topic, partition = place
    live = snapshot.topics.get(topic)
    extent = live.extents.get(partition) if live is not None else None
    size = extent.log_bytes if extent is not None else None
    return Move(topic, partition, ongoing.before, ongoing.target, ongoing.before[0], size)
