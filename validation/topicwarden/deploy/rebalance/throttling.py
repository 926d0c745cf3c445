"""The replication throttle of a stack's moves (KIP-73): applied before replicas move, removed when no replica moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from topicwarden.kafka.write.reassignment_admin import OngoingReassignment, PartitionId, ReassignmentSession
from topicwarden.kafka.write.throttle_admin import ReplicaCopy, ThrottleLists
from topicwarden.kafka_facts.throttle_settings import RATES, REPLICAS
from topicwarden.model.problem import Refusal
from topicwarden.plan.placement.replica_placement import ReplicaMove

Rates = Mapping[str, str]
"""Rates of a broker, by Kafka's name of the setting, in bytes per second."""


@dataclass(frozen=True)
class ThrottleRemoval:
    """Result of removing the throttle.

    - ``brokers`` and ``topics``: topicwarden's throttle was removed from them.
    - ``retained``: brokers whose rate is still needed, with the reason.
    - ``rates_of_others``: brokers with a rate that topicwarden did not set, with the rate, and who uses it.
    - ``lists_of_others``: topics of the stack whose throttle list another user wrote.
    """

    brokers: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()
    retained: Mapping[int, str] = field(default_factory=dict)
    rates_of_others: Mapping[int, str] = field(default_factory=dict)
    lists_of_others: tuple[str, ...] = ()


@dataclass(frozen=True)
class _ThrottleUse:
    """All throttle lists and reassignments of the cluster, for the stack with ``topics``.

    ``unknown`` are topics whose lists this user may not see.
    """

    topics: frozenset[str]
    lists: Mapping[str, ThrottleLists]
    unknown: frozenset[str]
    ongoing: Mapping[PartitionId, OngoingReassignment]

    @cached_property
    def own(self) -> dict[str, frozenset[int]]:
        """The brokers that topicwarden's lists name, by topic of the stack."""
        return {
            topic: lists.brokers or frozenset()
            for topic, lists in sorted(self.lists.items())
            if topic in self.topics and lists.marked
        }

    @cached_property
    def others(self) -> dict[str, ThrottleLists]:
        """The other lists, by topic: those of another stack, or written by another user."""
        return {topic: lists for topic, lists in sorted(self.lists.items()) if topic not in self.own}

    def use_by_others(self, broker: int) -> str | None:
        """Return why a rate of ``broker`` is used by somebody else; None if nobody else uses it."""
        for topic, lists in self.others.items():
            if lists.names(broker):
                return f"the throttle list of {topic} names it"
        for (topic, partition), state in sorted(self.ongoing.items()):
            if topic not in self.topics and broker in state.replicas:
                return f"it takes part in a move of {topic}, partition {partition}"
        if hidden := self.unknown - self.topics:
            return f"the throttle list of {min(hidden)} may name it (this user lacks DescribeConfigs on the topic)"
        return None


class ReplicationThrottle:
    """Throttles moves of ``topics``, all topics of a stack, to ``rate`` bytes per second; unlimited if None."""

    def __init__(self, session: ReassignmentSession, topics: Collection[str], rate: int | None) -> None:
        self._cluster = session.reassignment
        self._throttle = session.throttle
        self._topics = frozenset(topics)
        self._rate = rate
        self._seen_alive: frozenset[int] = frozenset()
        self._listed_before: Mapping[str, frozenset[int]] = {}

    def prepare(self, moves: Collection[ReplicaMove], under_way: Collection[str]) -> None:
        """Apply this run's rate to reassignments of topics ``under_way``, which an earlier run started.

        Refuses if another user throttles: this run would overwrite that throttle now, and remove it at the end. Refuses
        without the permissions to see throttles and to remove this run's own.
        """
        use = self._current_use()
        self._listed_before = use.own
        named = frozenset[int]().union(*use.own.values())
        self._seen_alive = self._alive()
        if self._rate is None:
            unused = {broker for broker in named & self._seen_alive if use.use_by_others(broker) is None}
            self._throttle.remove(use.own.keys(), unused)
            return
        if listed := sorted(use.others.keys() & {move.topic for move in moves if move.added}):
            raise Refusal(
                f"{listed[0]} has a throttle list that topicwarden did not write ({REPLICAS[0]} or {REPLICAS[1]}): "
                f"if nobody needs it, remove it with `{remove_lists_command(listed[0])}`; --throttle unlimited leaves "
                "it alone"
            )
        brokers = _brokers(moves) & self._seen_alive
        self._require_permissions(use, moves, brokers)
        rated = self._throttle.rates(brokers)
        for broker in sorted(rated.keys() - named):
            reason = use.use_by_others(broker)
            raise Refusal(
                f"broker {broker} has a {' and a '.join(rated[broker])} that "
                + (
                    f"someone else uses: {reason}. Wait until that work is done, or remove the throttle with "
                    f"`{remove_rates_command(broker)}`"
                    if reason
                    else f"topicwarden did not set, and that nothing uses now: if nobody needs it, remove it with "
                    f"`{remove_rates_command(broker)}`"
                )
                + "; --throttle unlimited leaves it alone"
            )
        self.apply(moves, under_way)

    def _require_permissions(self, use: _ThrottleUse, moves: Collection[ReplicaMove], brokers: Collection[int]) -> None:
        """Refuse before the first change if this user may not see or set the throttle of ``moves``."""
        if self._rate is None or not brokers:
            return
        if hidden := sorted(use.unknown & {move.topic for move in moves if move.added}):
            raise Refusal(
                f"this user may not read the throttle lists of {hidden[0]}, so they could not be removed after the "
                "move: grant DescribeConfigs on the topic; --throttle unlimited sets no lists"
            )
        if self._throttle.unreadable(brokers):
            raise Refusal(
                "this user may not read the brokers' settings, so a throttle of somebody else would be overwritten: "
                "grant DescribeConfigs on the Cluster resource; --throttle unlimited sets no rates"
            )
        self._throttle.validate_rate(brokers, self._rate)

    def apply(self, moves: Collection[ReplicaMove], topics: Collection[str]) -> None:
        """Throttle those ``moves`` whose topic is in ``topics``.

        ``moves`` are all moves of a run, so a topic's list never shrinks while its partitions move. A broker that was
        lost during the whole run is not listed, because no rate can be set on it. A broker that an earlier run listed
        stays listed.
        """
        throttled = [move for move in moves if move.topic in topics and move.added]
        if self._rate is None or not throttled:
            return
        alive = self._alive()
        self._seen_alive |= alive
        copies: dict[str, list[ReplicaCopy]] = {}
        for move in throttled:
            sources = tuple(broker for broker in move.before if broker in self._seen_alive)
            lost = tuple(sorted(self._listed_before.get(move.topic, frozenset()) - alive))
            copies.setdefault(move.topic, []).append(ReplicaCopy(move.partition, sources + lost, move.added))
        self._throttle.apply(copies, _brokers(throttled) & alive, self._rate)

    def rate_in_force(self) -> int | None:
        """Return the rate of an earlier run, in bytes per second: the lowest of the brokers that its lists name.

        None without a throttle of an earlier run, or if this user may not see it.
        """
        named = frozenset[int]().union(*self._current_use().own.values())
        rates_by_broker = self._throttle.rates(named & self._alive())
        return min((int(rate) for rates in rates_by_broker.values() for rate in rates.values()), default=None)

    def remove(self) -> ThrottleRemoval:
        """Remove topicwarden's throttle from topics that do not move, and from the brokers that its lists name.

        Topics that move keep their lists. Brokers that a reassignment needs keep their rate, and so do lost brokers,
        which cannot be changed. Topics that list such a broker keep their lists, so that a later call finds them. A
        rate that no list of topicwarden names is somebody else's: topicwarden writes lists before rates, and removes
        them after rates.
        """
        use = self._current_use()
        registered = self._cluster.brokers()
        alive = {broker for broker, is_alive in registered.items() if is_alive}
        needed = dict.fromkeys(registered.keys() - alive, "it is lost")
        needed |= {broker: "it takes part in a move" for state in use.ongoing.values() for broker in state.replicas}
        moving = {topic for topic, _ in use.ongoing}
        topics = tuple(name for name, listed in use.own.items() if name not in moving and listed.isdisjoint(needed))
        named = frozenset[int]().union(*use.own.values())
        brokers = tuple(sorted((named & registered.keys()) - needed.keys()))
        others = {broker: rates for broker, rates in self._throttle.rates(alive).items() if broker not in named}
        self._throttle.remove(topics, brokers)
        return ThrottleRemoval(
            brokers,
            topics,
            {broker: needed[broker] for broker in sorted(named & needed.keys())},
            {
                broker: f"{_rates_text(rates)}: {use.use_by_others(broker) or _unused(broker)}"
                for broker, rates in sorted(others.items())
            },
            tuple(sorted(use.others.keys() & self._topics)),
        )

    def _current_use(self) -> _ThrottleUse:
        lists, unknown = self._throttle.lists()
        return _ThrottleUse(self._topics, lists, unknown, self._cluster.ongoing())

    def _alive(self) -> frozenset[int]:
        return frozenset(broker for broker, alive in self._cluster.brokers().items() if alive)


def remove_lists_command(topic: str) -> str:
    """Return the command that removes the throttle lists of ``topic``."""
    return (
        f"kafka-configs --bootstrap-server <server> --alter --entity-type topics --entity-name {topic} "
        f"--delete-config {','.join(REPLICAS)}"
    )


def remove_rates_command(broker: int) -> str:
    """Return the command that removes the throttle rates of ``broker``."""
    return (
        f"kafka-configs --bootstrap-server <server> --alter --entity-type brokers --entity-name {broker} "
        f"--delete-config {','.join(RATES)}"
    )


def _unused(broker: int) -> str:
    return f"nothing uses it now; if nobody needs it, remove it with `{remove_rates_command(broker)}`"


def _rates_text(rates: Rates) -> str:
    return ", ".join(f"{name}={value}" for name, value in rates.items())


def _brokers(moves: Collection[ReplicaMove]) -> frozenset[int]:
    return frozenset(broker for move in moves if move.added for broker in (*move.before, *move.added))
