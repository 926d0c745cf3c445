"""On which brokers the replicas of a topic belong: as declared, over as many racks as there are, moving the least.

A partition is right where it has the declared number of replicas, all on brokers of the cluster, in as
many racks as possible; what is right is not touched. Where a broker has no ``broker.rack``, racks say
nothing, and every broker counts as one (as ``kafka-reassign-partitions --disable-rack-aware``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden.kafka.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.model.problem import Problem
from topicwarden.plan.placement.broker_choice import PartitionRepair, is_right, racks_of
from topicwarden.plan.placement.load_balancing import BrokerLoad, even_out
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True, order=True)
class ReplicaMove:
    """One partition's replicas, as they are and as they are to be; the first is the preferred leader.

    ``log_bytes`` is the size of the leader's log, None where it is not known.
    """

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    leader: int
    log_bytes: int | None

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a copy."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """The brokers that delete theirs."""
        return tuple(broker for broker in self.before if broker not in self.after)

    @property
    def bytes_to_copy(self) -> int | None:
        """Bytes that all added brokers together fetch; None where the log's size is not known."""
        return None if self.log_bytes is None and self.added else (self.log_bytes or 0) * len(self.added)


@dataclass(frozen=True, order=True)
class StuckPartition:
    """A partition that is not right and cannot be moved now, and why."""

    topic: str
    partition: int
    reason: str


@dataclass(frozen=True)
class ReplicaPlacement:
    """What to move, sorted; what is declared and cannot be; and what must wait for a broker."""

    moves: tuple[ReplicaMove, ...] = ()
    problems: tuple[Problem, ...] = ()
    stuck: tuple[StuckPartition, ...] = ()


def place(declarations: Iterable[Declaration], snapshot: Snapshot) -> ReplicaPlacement:
    """The moves with which every declared topic of ``snapshot`` is right; topics that do not exist are left out.

    ``snapshot`` should hold every topic of the cluster: new replicas go to the brokers that carry the fewest of
    their topic, then of all topics, then the fewest bytes. Partitions only count as far as they are there.
    The same input gives the same moves.
    """
    racks = racks_of(snapshot)
    replicas, leaders = _loads(snapshot)
    moves: list[ReplicaMove] = []
    problems: list[Problem] = []
    stuck: list[StuckPartition] = []
    for held in sorted(declarations, key=lambda held: held.topic.name):
        live = snapshot.topics.get(held.topic.name)
        if live is None:
            continue
        factor = held.topic.replication_factor
        wrong = [state for state in live.replicas if not is_right(state, factor, racks)]
        if len(racks) < factor:
            if any(len(state.replicas) != factor for state in live.replicas):
                problems.append(_too_few(held, racks))
            else:
                stuck += [StuckPartition(held.topic.name, state.partition, _lost(state, racks)) for state in wrong]
            continue
        stuck += [
            StuckPartition(held.topic.name, state.partition, _leaderless(state))
            for state in wrong
            if state.leader is None
        ]
        movable = [PartitionRepair(state, factor, racks) for state in wrong if state.leader is not None]
        moves += _moved(live, movable, replicas, leaders)
    return ReplicaPlacement(tuple(sorted(moves)), tuple(sorted(problems)), tuple(sorted(stuck)))


def wait_for_lagging(placement: ReplicaPlacement, snapshot: Snapshot) -> ReplicaPlacement:
    """Return ``placement`` without the moves that drop in-sync replicas while one that they keep is out of sync.

    Such a move is stuck. Kafka would carry it out at once: a reassignment ends when all added replicas are in sync,
    whatever the others, and only the last in-sync replica is safe
    (``PartitionReassignmentReplicas.maybeCompleteReassignment``).
    """
    stuck = {
        (move.topic, move.partition): StuckPartition(move.topic, move.partition, reason)
        for move in placement.moves
        if (reason := lagging(move, snapshot.topics[move.topic].in_sync(move.partition)))
    }
    moves = tuple(move for move in placement.moves if (move.topic, move.partition) not in stuck)
    return replace(placement, moves=moves, stuck=tuple(sorted((*placement.stuck, *stuck.values()))))


def lagging(move: ReplicaMove, in_sync: Collection[int]) -> str | None:
    """Return why ``move`` has to wait for replicas to catch up; None if it leaves as many in sync as it can hold."""
    left = {*in_sync, *move.added} & {*move.after}
    if len(left) >= min(len(in_sync), len(move.after)):
        return None
    dropped = ", ".join(str(broker) for broker in in_sync if broker not in move.after)
    behind = ", ".join(str(broker) for broker in move.after if broker not in left)
    return (
        f"it would drop in-sync replicas (broker {dropped}) while broker {behind} is out of sync: "
        "wait until it has caught up, or start it again"
    )


def settled(snapshot: Snapshot, targets: Mapping[tuple[str, int], tuple[int, ...]]) -> Snapshot:
    """The snapshot as it will be when reassignments are done that lead to ``targets``, by topic and partition."""
    topics = dict(snapshot.topics)
    for name in {topic for topic, _ in targets} & topics.keys():
        live = topics[name]
        states = tuple(
            replace(state, replicas=target) if (target := targets.get((name, state.partition))) else state
            for state in live.replicas
        )
        factor = min(len(state.replicas) for state in states)
        topics[name] = replace(live, replicas=states, topic=replace(live.topic, replication_factor=factor))
    return replace(snapshot, topics=topics)


def _moved(
    live: LiveTopic, movable: list[PartitionRepair], replicas: BrokerLoad, leaders: BrokerLoad
) -> Iterable[ReplicaMove]:
    if not movable:
        return []
    parts = {part.state.partition: part for part in movable}
    brokers = sorted(movable[0].racks)
    replicas.here = Counter(broker for state in live.replicas for broker in state.replicas)
    leaders.here = Counter(state.replicas[0] for state in live.replicas)
    chosen: dict[int, frozenset[int]] = {}
    for number, part in parts.items():
        replicas.add(part.state.replicas, -1)
        chosen[number] = part.best(replicas)
        replicas.add(chosen[number])
    costs = {number: parts[number].cost(brokers_of) for number, brokers_of in chosen.items()}
    even_out(chosen, lambda number, found: parts[number].cost(found) <= costs[number], replicas, brokers)

    led: dict[int, frozenset[int]] = {}
    for number, part in parts.items():
        if part.state.replicas[0] not in chosen[number]:
            leaders.add(part.state.replicas[:1], -1)
            led[number] = frozenset({min(chosen[number], key=leaders.of)})
            leaders.add(led[number])
    even_out(led, lambda number, found: found <= chosen[number], leaders, brokers)

    moves = [_move(live, part, chosen[number], led.get(number)) for number, part in parts.items()]
    for move in moves:
        for broker in move.added:
            replicas.log_bytes[broker] += move.log_bytes or 0
        for broker in move.removed:
            replicas.log_bytes[broker] -= move.log_bytes or 0
    return moves


def _move(live: LiveTopic, part: PartitionRepair, brokers: frozenset[int], led: frozenset[int] | None) -> ReplicaMove:
    state, extent = part.state, live.extents.get(part.state.partition)
    kept = [broker for broker in state.replicas if broker in brokers]
    order = [*kept, *sorted(brokers.difference(kept))]
    after = [*led, *(broker for broker in order if broker not in led)] if led else order
    if state.leader is None:
        raise AssertionError("a partition without a leader is not moved")
    size = extent.log_bytes if extent is not None else None
    return ReplicaMove(live.topic.name, state.partition, state.replicas, tuple(after), state.leader, size)


def _loads(snapshot: Snapshot) -> tuple[BrokerLoad, BrokerLoad]:
    """Of replicas and of preferred leaders."""
    replicas, leaders, log_bytes = Counter[int](), Counter[int](), Counter[int]()
    for live in snapshot.topics.values():
        for state in live.replicas:
            extent = live.extents.get(state.partition)
            leaders[state.replicas[0]] += 1
            for broker in state.replicas:
                replicas[broker] += 1
                log_bytes[broker] += (extent.log_bytes or 0) if extent is not None else 0
    return BrokerLoad(replicas, log_bytes), BrokerLoad(leaders, log_bytes)


def _too_few(held: Declaration, racks: Mapping[int, str]) -> Problem:
    factor, there = held.topic.replication_factor, ", ".join(map(str, sorted(racks)))
    return Problem(
        held.places.at(("replication_factor",)),
        f"{held.topic.name}: too few brokers for replication factor {factor}: the cluster has {len(racks)} ({there}); "
        f"declare {len(racks)} at most, or add brokers",
        rule="too-few-brokers",
    )


def _lost(state: PartitionReplicas, racks: Mapping[int, str]) -> str:
    lost = ", ".join(str(broker) for broker in state.replicas if broker not in racks)
    return f"broker {lost} is lost, and no other is free to take its replica: start it again"


def _leaderless(state: PartitionReplicas) -> str:
    brokers = ", ".join(map(str, state.replicas))
    return f"it has no leader, so that nothing can be copied: start one of its brokers {brokers}"
