"""What a placement means: bytes and time to copy, and the losses of brokers that a topic outlives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.model.topic import Topic
from topicwarden.plan.placement.replica_placement import ReplicaMove


@dataclass(frozen=True)
class Durability:
    """Of a topic's weakest partition: how many brokers may be lost, any of them, before it stops to serve.

    Reading takes one replica in sync, writing with ``acks=all`` ``min.insync.replicas`` of them, but no more than
    there are replicas (``Partition.effectiveMinIsr``); below zero for writing: so many lack now. ``racks`` is the
    least number of racks that a partition's replicas stand in; None where a broker has no ``broker.rack``.
    """

    losses_reading: int
    losses_writing: int
    racks: int | None


def durability_now(live: LiveTopic, snapshot: Snapshot) -> Durability:
    """By the replicas in sync at this moment, and the topic's setting in force."""
    replicas = min(len(state.replicas) for state in live.replicas)
    return _durability([state.in_sync for state in live.replicas], replicas, live.topic, snapshot)


def durability_after(declared: Topic, live: LiveTopic, moves: Iterable[ReplicaMove], snapshot: Snapshot) -> Durability:
    """After ``moves`` (of any topics), with every replica on a living broker in sync and the declared setting."""
    after = {move.partition: move.after for move in moves if move.topic == live.topic.name}
    held = [after.get(state.partition, state.replicas) for state in live.replicas]
    setting = "min.insync.replicas"
    topic = declared if setting in declared.config else live.topic
    living = [[broker for broker in each if broker in snapshot.racks] for each in held]
    return _durability(living, min(map(len, held)), topic, snapshot)


def received(moves: Iterable[ReplicaMove]) -> dict[int, int]:
    """Bytes that each broker fetches, by broker; logs of unknown size count nothing."""
    return _summed((broker, move.log_bytes) for move in moves for broker in move.added)


def sent(moves: Iterable[ReplicaMove]) -> dict[int, int]:
    """Bytes that each broker serves as the leader, by broker; logs of unknown size count nothing."""
    return _summed((move.leader, move.log_bytes) for move in moves for _ in move.added)


def seconds(moves: Collection[ReplicaMove], throttle: int) -> float:
    """The least time that ``moves`` take, at ``throttle`` bytes a second into each broker and out of each (KIP-73)."""
    return max((*received(moves).values(), *sent(moves).values()), default=0) / throttle


def _summed(amounts: Iterable[tuple[int, int | None]]) -> dict[int, int]:
    total = Counter[int]()
    for broker, amount in amounts:
        total[broker] += amount or 0
    return dict(sorted(total.items()))


def _durability(held: Iterable[Collection[int]], replicas: int, topic: Topic, snapshot: Snapshot) -> Durability:
    sets = list(held)
    copies = min((len(each) for each in sets), default=0)
    known = all(rack is not None for rack in snapshot.racks.values())
    racks = min((len({snapshot.racks.get(broker) for broker in each}) for each in sets), default=0)
    least = min(topic.number("min.insync.replicas") or 1, replicas)
    return Durability(copies - 1, copies - least, racks if known else None)
