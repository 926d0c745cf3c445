"""The throttle of a stack's moves: set before anything moves, and removed when nothing does (KIP-73)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from topicwarden.kafka.reassignment_admin import OngoingReassignment, Place, ReassignmentSession
from topicwarden.kafka.throttle_admin import REPLICAS, ReplicaCopy, ThrottleLists
from topicwarden.model.problem import Refusal
from topicwarden.plan.placement.replica_placement import ReplicaMove

Rates = Mapping[str, str]
"""Kafka's names of a broker's rates, and their values in bytes a second."""


@dataclass(frozen=True)
class Released:
    """What is not throttled any more, and what still is.

    ``brokers`` and ``topics``: our throttle was removed. ``unused``: brokers whose rate no list and no reassignment
    used, which was removed. ``kept``: brokers whose rate has to stay for now, and why. ``foreign``: brokers whose rate
    somebody else's work uses, and why; ``foreign_lists``: topics of the stack whose list somebody else wrote.
    """

    brokers: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()
    unused: Mapping[int, Rates] = field(default_factory=dict)
    kept: Mapping[int, str] = field(default_factory=dict)
    foreign: Mapping[int, str] = field(default_factory=dict)
    foreign_lists: tuple[str, ...] = ()


@dataclass(frozen=True)
class _InUse:
    """All throttle lists and reassignments of the cluster, seen from the stack with ``topics``."""

    topics: frozenset[str]
    lists: Mapping[str, ThrottleLists]
    unseen: frozenset[str]
    ongoing: Mapping[Place, OngoingReassignment]

    @cached_property
    def own(self) -> dict[str, frozenset[int]]:
        """The brokers that our lists name, by topic."""
        return {
            topic: lists.brokers or frozenset()
            for topic, lists in sorted(self.lists.items())
            if topic in self.topics and lists.marked
        }

    @cached_property
    def foreign(self) -> dict[str, ThrottleLists]:
        """The other lists, by topic: another stack's, or written by somebody else."""
        return {topic: lists for topic, lists in sorted(self.lists.items()) if topic not in self.own}

    def by_others(self, broker: int) -> str | None:
        """Return who else uses a rate of ``broker``; None if nobody does."""
        for topic, lists in self.foreign.items():
            if lists.names(broker):
                return f"the throttle list of {topic} names it"
        for (topic, partition), state in sorted(self.ongoing.items()):
            if topic not in self.topics and broker in state.replicas:
                return f"it takes part in a move of {topic}, partition {partition}"
        if self.unseen:
            return f"the throttle list of {min(self.unseen)} may name it (this user lacks DescribeConfigs on the topic)"
        return None


class ReplicationThrottle:
    """Throttles moves of ``topics``, all of a stack's, to ``rate`` bytes a second; not at all where that is None."""

    def __init__(self, movable: ReassignmentSession, topics: Collection[str], rate: int | None) -> None:
        self._cluster = movable.reassignment
        self._throttle = movable.throttle
        self._topics = frozenset(topics)
        self._rate = rate
        self._seen: frozenset[int] = frozenset()
        self._listed: Mapping[str, frozenset[int]] = {}

    def prepare(self, moves: Collection[ReplicaMove], under_way: Collection[str]) -> None:
        """Brakes what an earlier run began, topics ``under_way``, as this one is told to.

        Refuses where someone else throttles: that would be overwritten now, and gone at the end.
        """
        used = self._in_use()
        self._listed = used.own
        named = frozenset[int]().union(*used.own.values())
        self._seen = self._alive()
        if self._rate is None:
            free = {broker for broker in named & self._seen if used.by_others(broker) is None}
            self._throttle.release(used.own.keys(), free)
            return
        if listed := sorted(used.foreign.keys() & {move.topic for move in moves if move.added}):
            raise Refusal(
                f"{listed[0]} has a throttle list that topicwarden did not write ({REPLICAS[0]} or {REPLICAS[1]}): "
                f"if nobody needs it, remove it with `{unlist(listed[0])}`; --throttle unlimited leaves it alone"
            )
        rated = self._throttle.rates(_brokers(moves) & self._seen)
        for broker in sorted(rated.keys() - named):
            if why := used.by_others(broker):
                raise Refusal(
                    f"broker {broker} has a {' and a '.join(rated[broker])} that someone else uses: {why}. Wait until "
                    "that work is done, or remove the throttle with kafka-configs; --throttle unlimited leaves it alone"
                )
        self.hold(moves, under_way)

    def hold(self, moves: Collection[ReplicaMove], topics: Collection[str]) -> None:
        """Brakes ``moves``, as far as they are of ``topics``.

        ``moves`` are all of a run, so that a topic's list never shrinks while it moves. A broker that was lost
        all the time is not listed, as nothing could be set on it; one that an earlier run listed stays so.
        """
        held = [move for move in moves if move.topic in topics and move.added]
        if self._rate is None or not held:
            return
        alive = self._alive()
        self._seen |= alive
        copies: dict[str, list[ReplicaCopy]] = {}
        for move in held:
            sources = tuple(broker for broker in move.before if broker in self._seen)
            lost = tuple(sorted(self._listed.get(move.topic, frozenset()) - alive))
            copies.setdefault(move.topic, []).append(ReplicaCopy(move.partition, sources + lost, move.added))
        self._throttle.hold(copies, _brokers(held) & alive, self._rate)

    def release(self) -> Released:
        """Removes our throttle from topics that do not move and the brokers they list, and rates that nothing uses.

        Left alone are topics that move; and brokers that a reassignment needs, or that are lost and cannot be
        asked: the topics that list them keep their lists, so that a later call knows.
        """
        used = self._in_use()
        registered = self._cluster.brokers()
        alive = {broker for broker, lives in registered.items() if lives}
        kept = dict.fromkeys(registered.keys() - alive, "it is lost")
        kept |= {broker: "it takes part in a move" for state in used.ongoing.values() for broker in state.replicas}
        moving = {topic for topic, _ in used.ongoing}
        topics = tuple(name for name, listed in used.own.items() if name not in moving and listed.isdisjoint(kept))
        named = frozenset[int]().union(*used.own.values())
        brokers = tuple(sorted((named & registered.keys()) - kept.keys()))
        unnamed = {broker: rates for broker, rates in self._throttle.rates(alive).items() if broker not in named}
        foreign = {broker: why for broker in sorted(unnamed) if (why := used.by_others(broker))}
        unused = {broker: unnamed[broker] for broker in sorted(unnamed.keys() - foreign.keys() - kept.keys())}
        self._throttle.release(topics, {*brokers, *unused})
        return Released(
            brokers,
            topics,
            unused,
            {broker: kept[broker] for broker in sorted((named | unnamed.keys() - foreign.keys()) & kept.keys())},
            {broker: f"{_shown(unnamed[broker])}: {why}" for broker, why in foreign.items()},
            tuple(sorted(used.foreign.keys() & self._topics)),
        )

    def _in_use(self) -> _InUse:
        lists, unseen = self._throttle.lists()
        return _InUse(self._topics, lists, unseen - self._topics, self._cluster.ongoing())

    def _alive(self) -> frozenset[int]:
        return frozenset(broker for broker, alive in self._cluster.brokers().items() if alive)


def unlist(topic: str) -> str:
    """Return the command that removes the throttle lists of ``topic``."""
    return (
        f"kafka-configs --bootstrap-server <server> --alter --entity-type topics --entity-name {topic} "
        f"--delete-config {','.join(REPLICAS)}"
    )


def _shown(rates: Rates) -> str:
    return ", ".join(f"{name}={value}" for name, value in rates.items())


def _brokers(moves: Collection[ReplicaMove]) -> frozenset[int]:
    return frozenset(broker for move in moves if move.added for broker in (*move.before, *move.added))
