"""The throttle of a stack's moves: set before anything moves, and removed when nothing does (KIP-73)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from topicwarden.kafka.reassignment import Movable
from topicwarden.kafka.throttle import RATES, REPLICAS, Copy
from topicwarden.plan.placement import Move
from topicwarden.problem import Refusal


@dataclass(frozen=True)
class Released:
    """The brokers and topics that are not throttled any more; and the brokers whose throttle stays for now, and why."""

    brokers: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()
    kept: Mapping[int, str] = field(default_factory=dict)


class Brake:
    """Throttles moves of ``topics``, all of a stack's, to ``rate`` bytes a second; not at all where that is None."""

    def __init__(self, movable: Movable, topics: Collection[str], rate: int | None) -> None:
        self._cluster = movable.reassignment
        self._throttle = movable.throttle
        self._topics = frozenset(topics)
        self._rate = rate
        self._seen: frozenset[int] = frozenset()
        self._listed: Mapping[str, frozenset[int]] = {}

    def prepare(self, moves: Collection[Move], under_way: Collection[str]) -> None:
        """Brakes what an earlier run began, topics ``under_way``, as this one is told to.

        Refuses where someone else throttles: that would be overwritten now, and gone at the end.
        """
        self._listed = listed = self._throttle.listed(self._topics)
        named = frozenset[int]().union(*listed.values())
        self._seen = self._alive()
        if self._rate is None:
            self._throttle.release(listed.keys(), named & self._seen)
            return
        if written := sorted(self._throttle.everything({move.topic for move in moves})):
            raise Refusal(
                f"{written[0]} has a {REPLICAS[0]} or {REPLICAS[1]} that someone set to *: remove it first, "
                "or take --throttle unlimited, which leaves it alone"
            )
        if foreign := sorted(self._throttle.rated(_brokers(moves) & self._seen) - named):
            raise Refusal(
                f"broker {foreign[0]} has a {RATES[0]} or {RATES[1]} that someone else set: wait until that work is "
                "done, or remove it with kafka-configs; --throttle unlimited leaves it alone"
            )
        self.hold(moves, under_way)

    def hold(self, moves: Collection[Move], topics: Collection[str]) -> None:
        """Brakes ``moves``, as far as they are of ``topics``.

        ``moves`` are all of a run, so that a topic's list never shrinks while it moves. A broker that was lost
        all the time is not listed, as nothing could be set on it; one that an earlier run listed stays so.
        """
        held = [move for move in moves if move.topic in topics and move.added]
        if self._rate is None or not held:
            return
        alive = self._alive()
        self._seen |= alive
        copies: dict[str, list[Copy]] = {}
        for move in held:
            sources = tuple(broker for broker in move.before if broker in self._seen)
            lost = tuple(sorted(self._listed.get(move.topic, frozenset()) - alive))
            copies.setdefault(move.topic, []).append(Copy(move.partition, sources + lost, move.added))
        self._throttle.hold(copies, _brokers(held) & alive, self._rate)

    def release(self) -> Released:
        """Removes the throttles of the topics that do not move, and of the brokers that they list.

        Left alone are topics that move; and brokers that a reassignment needs, or that are lost and cannot be
        asked: the topics that list them keep their lists, so that a later call knows.
        """
        listed = self._throttle.listed(self._topics)
        if not listed:
            return Released()
        ongoing = self._cluster.ongoing()
        registered = self._cluster.brokers()
        kept = {broker: "it is lost" for broker, alive in registered.items() if not alive}
        kept |= {broker: "it takes part in a move" for state in ongoing.values() for broker in state.replicas}
        moving = {topic for topic, _ in ongoing}
        topics = tuple(topic for topic, brokers in listed.items() if topic not in moving and brokers.isdisjoint(kept))
        named = frozenset[int]().union(*listed.values())
        brokers = tuple(sorted((named & registered.keys()) - kept.keys()))
        self._throttle.release(topics, brokers)
        return Released(brokers, topics, {broker: kept[broker] for broker in sorted(named & kept.keys())})

    def _alive(self) -> frozenset[int]:
        return frozenset(broker for broker, alive in self._cluster.brokers().items() if alive)


def _brokers(moves: Collection[Move]) -> frozenset[int]:
    return frozenset(broker for move in moves if move.added for broker in (*move.before, *move.added))
