"""Effects of a placement: bytes and time to copy, and how many lost brokers a topic survives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.topic import Topic
from topicwarden.plan.placement.replica_placement import ReplicaMove


@dataclass(frozen=True)
class Durability:
    """The number of brokers that may be lost, any of them, before the topic's weakest partition stops serving.

    Reading needs one in-sync replica. Writing with ``acks=all`` needs ``min.insync.replicas`` of them, but not more
    than the partition has replicas (``Partition.effectiveMinIsr``). A negative number counts the in-sync replicas that
    are missing now. ``racks`` is the smallest number of racks of a partition's replicas; None if a broker has no
    ``broker.rack``.
    """

    losses_reading: int
    losses_writing: int
    racks: int | None


def durability_now(live: LiveTopic, snapshot: Snapshot) -> Durability:
    """Return the current durability, from the in-sync replicas and the topic's effective setting."""
    return _durability([(state.in_sync, state.replicas) for state in live.replicas], live.topic, snapshot)


def durability_after(declared: Topic, live: LiveTopic, moves: Iterable[ReplicaMove], snapshot: Snapshot) -> Durability:
    """Return the durability after ``moves`` (of any topics), with the declared setting.

    Every replica on a living broker counts as in sync.
    """
    after = {move.partition: move.after for move in moves if move.topic == live.topic.name}
    replicas = [after.get(state.partition, state.replicas) for state in live.replicas]
    setting = "min.insync.replicas"
    topic = declared if setting in declared.config else live.topic
    living = ([broker for broker in brokers if broker in snapshot.racks] for brokers in replicas)
    return _durability(list(zip(living, replicas, strict=True)), topic, snapshot)


def received(moves: Iterable[ReplicaMove]) -> dict[int, int]:
    """Return the bytes that each broker fetches, by broker; logs of unknown size count as 0."""
    return _summed((broker, move.log_bytes) for move in moves for broker in move.added)


def sent(moves: Iterable[ReplicaMove]) -> dict[int, int]:
    """Return the bytes that each broker sends as leader, by broker; logs of unknown size count as 0."""
    return _summed((move.leader, move.log_bytes) for move in moves for _ in move.added)


def seconds(moves: Collection[ReplicaMove], throttle: int) -> float:
    """Return the shortest duration of ``moves``, in seconds.

    ``throttle`` is the rate in bytes per second into each broker and out of each broker (KIP-73).
    """
    return max((*received(moves).values(), *sent(moves).values()), default=0) / throttle


def _summed(amounts: Iterable[tuple[int, int | None]]) -> dict[int, int]:
    total = Counter[int]()
    for broker, amount in amounts:
        total[broker] += amount or 0
    return dict(sorted(total.items()))


def _durability(
    partitions: Sequence[tuple[Collection[int], Collection[int]]], topic: Topic, snapshot: Snapshot
) -> Durability:
    """Return the durability of ``partitions``: the in-sync replicas and the replicas of each."""
    declared = topic.number("min.insync.replicas") or 1
    copies = min((len(in_sync) for in_sync, _ in partitions), default=0)
    spare = min((len(in_sync) - min(declared, len(replicas)) for in_sync, replicas in partitions), default=0)
    racks_known = all(rack is not None for rack in snapshot.racks.values())
    racks = min((len({snapshot.racks.get(broker) for broker in in_sync}) for in_sync, _ in partitions), default=0)
    return Durability(copies - 1, spare, racks if racks_known else None)
