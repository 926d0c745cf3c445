"""Plans the moves that bring the replicas of topics to the declared number, over all racks, with the least copying.

A partition is placed correctly if it has the declared number of replicas, all on brokers of the cluster, in as many
racks as possible. Such partitions are not moved. If a broker has no ``broker.rack``, racks are ignored and every broker
counts as its own rack (as ``kafka-reassign-partitions --disable-rack-aware``). Brokers whose log directories are all
cordoned (KIP-1066) keep their replicas and get no new ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.kinds.topic.broker_choice import BrokerLoad, PartitionRepair, even_out, is_placed, racks_of
from topicwarden.model.problem import Problem
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True, order=True)
class ReplicaMove:
    """A partition's replicas before and after; the first replica is the preferred leader.

    ``log_bytes`` is the size of the leader's log, None if unknown.
    """

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    leader: int
    log_bytes: int | None

    @property
    def partition_id(self) -> tuple[str, int]:
        """The topic and the partition."""
        return self.topic, self.partition

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a copy."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """The brokers that delete their copy."""
        return tuple(broker for broker in self.before if broker not in self.after)

    @property
    def bytes_to_copy(self) -> int | None:
        """Bytes that all added brokers fetch in total; None if the log's size is unknown."""
        return None if self.log_bytes is None and self.added else (self.log_bytes or 0) * len(self.added)


@dataclass(frozen=True, order=True)
class StuckPartition:
    """A partition that needs a move but cannot be moved now, with the reason."""

    topic: str
    partition: int
    reason: str


@dataclass(frozen=True)
class ReplicaPlacement:
    """Moves, declarations that the cluster cannot satisfy, and partitions that wait for a broker; all sorted."""

    moves: tuple[ReplicaMove, ...] = ()
    problems: tuple[Problem, ...] = ()
    stuck: tuple[StuckPartition, ...] = ()


def place_replicas(declarations: Iterable[Declaration], snapshot: Snapshot) -> ReplicaPlacement:
    """Return the moves after which every declared topic of ``snapshot`` is placed correctly.

    ``snapshot`` should have all topics of the cluster. New replicas go to the brokers with the fewest replicas of the
    topic, then of all topics, then the fewest bytes. Topics and partitions that do not exist get no moves. The same
    input gives the same moves.
    """
    racks, cordoned = racks_of(snapshot.racks), snapshot.cordoned
    known = {broker for live in snapshot.topics.values() for state in live.replicas for broker in state.replicas}
    known = (known | racks.keys()) - {*cordoned}  # with KRaft, a lost broker counts when a topic is created
    replicas, leaders = _loads(snapshot)
    moves: list[ReplicaMove] = []
    problems: list[Problem] = []
    stuck: list[StuckPartition] = []
    for declaration in sorted(declarations, key=lambda each: each.topic.name):
        topic = declaration.topic
        live = snapshot.topics.get(topic.name)
        factor = topic.replication_factor
        if live is None:
            if racks and factor > len(known):
                problems.append(_too_few_brokers(declaration, known, cordoned & racks.keys()))
            continue
        usable = {state.partition: _usable(state, racks, cordoned) for state in live.replicas}
        misplaced = [state for state in live.replicas if not is_placed(state, factor, usable[state.partition])]
        if any(len(usable[state.partition]) < factor for state in misplaced):
            if any(len(state.replicas) != factor for state in live.replicas):
                problems.append(_too_few_brokers(declaration, racks, cordoned & racks.keys()))
            else:
                stuck += [StuckPartition(topic.name, state.partition, _lost(state, racks)) for state in misplaced]
            continue
        stuck += [
            StuckPartition(topic.name, state.partition, _leaderless(state))
            for state in misplaced
            if state.leader is None
        ]
        repairs = [
            PartitionRepair(state, factor, usable[state.partition]) for state in misplaced if state.leader is not None
        ]
        moves += _moves(live, repairs, replicas, leaders)
    return ReplicaPlacement(tuple(sorted(moves)), tuple(sorted(problems)), tuple(sorted(stuck)))


def without_lagging_moves(placement: ReplicaPlacement, snapshot: Snapshot) -> ReplicaPlacement:
    """Return ``placement`` without moves that drop in-sync replicas while a remaining replica is out of sync.

    Such a move becomes a stuck partition. Kafka would finish the move at once: a reassignment ends when all added
    replicas are in sync, regardless of the others, and only the last in-sync replica is safe
    (``PartitionReassignmentReplicas.maybeCompleteReassignment``).
    """
    stuck = {
        move.partition_id: StuckPartition(move.topic, move.partition, reason)
        for move in placement.moves
        if (reason := wait_reason(move, snapshot.topics[move.topic].in_sync(move.partition)))
    }
    moves = tuple(move for move in placement.moves if move.partition_id not in stuck)
    return replace(placement, moves=moves, stuck=tuple(sorted((*placement.stuck, *stuck.values()))))


def wait_reason(move: ReplicaMove, in_sync: Collection[int]) -> str | None:
    """Return why ``move`` must wait for replicas to catch up; None if it loses no in-sync replica needlessly."""
    remaining_in_sync = {*in_sync, *move.added} & {*move.after}
    if len(remaining_in_sync) >= min(len(in_sync), len(move.after)):
        return None
    dropped = ", ".join(str(broker) for broker in in_sync if broker not in move.after)
    behind = ", ".join(str(broker) for broker in move.after if broker not in remaining_in_sync)
    return (
        f"it would drop in-sync replicas (broker {dropped}) while broker {behind} is out of sync: "
        "wait until it has caught up, or start it again"
    )


def with_replicas(snapshot: Snapshot, targets: Mapping[tuple[str, int], tuple[int, ...]]) -> Snapshot:
    """Return ``snapshot`` with the replicas in ``targets``, by (topic, partition), such as after reassignments."""
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


def _moves(
    live: LiveTopic, repairs: list[PartitionRepair], replicas: BrokerLoad, leaders: BrokerLoad
) -> Iterable[ReplicaMove]:
    """Return the moves of one topic, and update the loads ``replicas`` and ``leaders``."""
    if not repairs:
        return []
    by_partition = {repair.state.partition: repair for repair in repairs}
    brokers = sorted({broker for repair in repairs for broker in repair.racks})
    replicas.topic_replicas = Counter(broker for state in live.replicas for broker in state.replicas)
    leaders.topic_replicas = Counter(state.replicas[0] for state in live.replicas)
    chosen: dict[int, frozenset[int]] = {}
    for partition, repair in by_partition.items():
        replicas.add(repair.state.replicas, -1)
        chosen[partition] = repair.best(replicas)
        replicas.add(chosen[partition])
    costs = {partition: by_partition[partition].cost(chosen_brokers) for partition, chosen_brokers in chosen.items()}
    even_out(
        chosen,
        lambda partition, candidates: (
            candidates <= by_partition[partition].racks.keys()
            and by_partition[partition].cost(candidates) <= costs[partition]
        ),
        replicas,
        brokers,
    )

    new_leaders: dict[int, frozenset[int]] = {}
    for partition, repair in by_partition.items():
        if repair.state.replicas[0] not in chosen[partition]:
            leaders.add(repair.state.replicas[:1], -1)
            new_leaders[partition] = frozenset({min(chosen[partition], key=leaders.sort_key)})
            leaders.add(new_leaders[partition])
    even_out(new_leaders, lambda partition, candidates: candidates <= chosen[partition], leaders, brokers)

    moves = [
        _move(live, repair, chosen[partition], new_leaders.get(partition)) for partition, repair in by_partition.items()
    ]
    for move in moves:
        for broker in move.added:
            replicas.log_bytes[broker] += move.log_bytes or 0
        for broker in move.removed:
            replicas.log_bytes[broker] -= move.log_bytes or 0
    return moves


def _move(
    live: LiveTopic, repair: PartitionRepair, brokers: frozenset[int], new_leader: frozenset[int] | None
) -> ReplicaMove:
    state, extent = repair.state, live.extents.get(repair.state.partition)
    retained = [broker for broker in state.replicas if broker in brokers]
    ordered = [*retained, *sorted(brokers.difference(retained))]
    after = [*new_leader, *(broker for broker in ordered if broker not in new_leader)] if new_leader else ordered
    if state.leader is None:
        raise AssertionError("a partition without a leader is not moved")
    size = extent.log_bytes if extent is not None else None
    return ReplicaMove(live.topic.name, state.partition, state.replicas, tuple(after), state.leader, size)


def _loads(snapshot: Snapshot) -> tuple[BrokerLoad, BrokerLoad]:
    """Return the loads of replicas and of preferred leaders."""
    replicas, leaders, log_bytes = Counter[int](), Counter[int](), Counter[int]()
    for live in snapshot.topics.values():
        for state in live.replicas:
            extent = live.extents.get(state.partition)
            leaders[state.replicas[0]] += 1
            for broker in state.replicas:
                replicas[broker] += 1
                log_bytes[broker] += (extent.log_bytes or 0) if extent is not None else 0
    return BrokerLoad(replicas, log_bytes), BrokerLoad(leaders, log_bytes)


def _usable(state: PartitionReplicas, racks: Mapping[int, str], cordoned: Collection[int]) -> dict[int, str]:
    """Return the racks of the brokers that may have a replica: a cordoned broker keeps its replica, but gets no new."""
    return {broker: rack for broker, rack in racks.items() if broker not in cordoned or broker in state.replicas}


def _too_few_brokers(declaration: Declaration, known: Collection[int], cordoned: Collection[int]) -> Problem:
    topic, brokers = declaration.topic, sorted({*known} - {*cordoned})
    without = f" without cordoned brokers ({', '.join(map(str, sorted(cordoned)))})" if cordoned else ""
    return Problem(
        declaration.locations.at(("replication_factor",)),
        f"{topic.name}: too few brokers for replication factor {topic.replication_factor}: the cluster has "
        f"{len(brokers)} ({', '.join(map(str, brokers))}){without}; start lost brokers again, add brokers, or declare "
        f"{len(brokers)} at most",
        rule="too-few-brokers",
    )


def _lost(state: PartitionReplicas, racks: Mapping[int, str]) -> str:
    lost = ", ".join(str(broker) for broker in state.replicas if broker not in racks)
    return f"broker {lost} is lost, and no other broker is free to take its replica: start it again"


def _leaderless(state: PartitionReplicas) -> str:
    brokers = ", ".join(map(str, state.replicas))
    return f"it has no leader, so nothing can be copied: start one of its brokers {brokers}"
