"""Chooses the brokers of partitions: of new topics, and of partitions whose replicas are not placed as declared."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from topicwarden.kafka.read.snapshot import PartitionReplicas

Chosen: TypeAlias = dict[int, frozenset[int]]
"""The chosen brokers by partition."""

Fits: TypeAlias = Callable[[int, frozenset[int]], bool]
"""Predicate that is true if a partition may have these brokers instead of the chosen ones."""


@dataclass
class BrokerLoad:
    """Load of each broker: replicas of one topic and of all topics; ``log_bytes`` decides between equals."""

    all_replicas: Counter[int]
    log_bytes: Counter[int]
    topic_replicas: Counter[int] = field(default_factory=Counter)

    def add(self, brokers: Iterable[int], amount: int = 1) -> None:
        for broker in brokers:
            self.topic_replicas[broker] += amount
            self.all_replicas[broker] += amount

    def sort_key(self, broker: int) -> tuple[int, int, int, int]:
        """Return the sort key of ``broker``: the least loaded broker comes first, and no two keys are equal."""
        return self.topic_replicas[broker], self.all_replicas[broker], self.log_bytes[broker], broker

    def is_balanced_by_move(self, source: int, target: int) -> bool:
        """Return whether moving one replica from ``source`` to ``target`` balances the topic or the cluster."""
        ahead = self.topic_replicas[source] - self.topic_replicas[target]
        return ahead > 1 or (ahead == 1 and self.all_replicas[source] > self.all_replicas[target] + 1)


@dataclass(frozen=True)
class PartitionRepair:
    """A partition that is not placed as declared; compares other brokers for it."""

    state: PartitionReplicas
    factor: int
    racks: Mapping[int, str]

    def cost(self, brokers: frozenset[int]) -> tuple[int, ...]:
        """Return the cost of ``brokers``, smaller is better.

        In order: missing racks, copies, replicas out of sync, a new preferred leader, uneven racks.
        """
        before = frozenset(self.state.replicas)
        racks = Counter(self.racks[broker] for broker in brokers)
        return (
            -len(racks),
            len(brokers - before),
            len((brokers & before) - frozenset(self.state.in_sync)),
            self.state.replicas[0] not in brokers,
            sum(number * number for number in racks.values()),
        )

    def best(self, load: BrokerLoad) -> frozenset[int]:
        """Return the brokers with the lowest cost; among equals, those with the least load."""
        alive = [broker for broker in self.state.replicas if broker in self.racks]
        for size in range(min(self.factor, len(alive)), -1, -1):
            candidates = [self._filled(retained, load) for retained in map(frozenset, combinations(alive, size))]
            good = [brokers for brokers in candidates if _rack_count(brokers, self.racks) == self._most_racks]
            if good:
                return min(
                    good, key=lambda brokers: (self.cost(brokers), sorted(map(load.sort_key, brokers), reverse=True))
                )
        raise AssertionError("without a retained replica, the brokers can always cover the largest number of racks")

    @property
    def _most_racks(self) -> int:
        return _most_racks(self.factor, self.racks)

    def _filled(self, retained: frozenset[int], load: BrokerLoad) -> frozenset[int]:
        return frozenset(filled(tuple(retained), self.factor, self.racks, load))


def filled(retained: tuple[int, ...], factor: int, racks: Mapping[int, str], load: BrokerLoad) -> tuple[int, ...]:
    """Return ``retained``, filled up to ``factor`` brokers with the least loaded brokers of unused racks, in order."""
    brokers = retained
    while len(brokers) < factor:
        used = Counter(racks[broker] for broker in brokers)
        free = racks.keys() - set(brokers)
        brokers += (min(free, key=lambda broker: (used[racks[broker]], *load.sort_key(broker))),)
    return brokers


def racks_of(brokers: Mapping[int, str | None]) -> dict[int, str]:
    """Return the rack of each of ``brokers``; if one broker has no ``broker.rack``, each counts as its own rack."""
    named = {broker: rack for broker, rack in brokers.items() if rack is not None}
    return named if len(named) == len(brokers) else {broker: str(broker) for broker in brokers}


def _most_racks(factor: int, racks: Mapping[int, str]) -> int:
    return min(factor, len(set(racks.values())))


def _rack_count(brokers: Iterable[int], racks: Mapping[int, str]) -> int:
    return len({racks[broker] for broker in brokers})


def is_placed(state: PartitionReplicas, factor: int, racks: Mapping[int, str]) -> bool:
    """Return whether a partition needs no move: ``factor`` replicas on living brokers, in as many racks as possible."""
    alive = all(broker in racks for broker in state.replicas)
    return len(state.replicas) == factor and alive and _rack_count(state.replicas, racks) == _most_racks(factor, racks)


class NewTopicPlacement:
    """Assigns brokers to the partitions of new topics; each assignment counts for the next one.

    ``racks`` has the rack of each living broker; see ``broker_choice.racks_of``. ``existing`` has the replicas of every
    partition of the cluster, the preferred leader first.
    """

    def __init__(self, racks: Mapping[int, str], existing: Iterable[Sequence[int]]) -> None:
        self._racks = racks
        replicas, leaders = Counter[int](), Counter[int]()
        for brokers in existing:
            replicas.update(brokers)
            leaders.update(brokers[:1])
        self._replicas, self._leaders = BrokerLoad(replicas, Counter()), BrokerLoad(leaders, Counter())

    def assign(self, partitions: int, factor: int) -> tuple[tuple[int, ...], ...]:
        """Return the brokers of each partition, the leader first; empty if there are fewer brokers than ``factor``."""
        if len(self._racks) < factor:
            return ()
        self._replicas.topic_replicas, self._leaders.topic_replicas = Counter(), Counter()
        return tuple(self._assign(factor) for _ in range(partitions))

    def _assign(self, factor: int) -> tuple[int, ...]:
        chosen = filled((), factor, self._racks, self._replicas)
        self._replicas.add(chosen)
        leader = min(chosen, key=self._leaders.sort_key)
        self._leaders.add([leader])
        return (leader, *(broker for broker in chosen if broker != leader))


def even_out(chosen: Chosen, fits: Fits, load: BrokerLoad, brokers: Collection[int]) -> None:
    """Exchange brokers in ``chosen`` for others that fit, while that balances ``load``; changes both arguments.

    An exchange may only be possible after another one, so the search follows paths of exchanges. If no such path is
    left, the load is as even as possible (a minimum-cost flow with convex costs).
    """
    improved = True
    while improved:
        sources = sorted(brokers, key=load.sort_key, reverse=True)
        improved = any(_relieve(source, chosen, fits, load, brokers) for source in sources)


def _relieve(source: int, chosen: Chosen, fits: Fits, load: BrokerLoad, brokers: Collection[int]) -> bool:
    """Move one replica away from ``source`` along a path of exchanges; return whether a path was found."""
    if not any(load.is_balanced_by_move(source, target) for target in brokers):
        return False
    paths: dict[int, list[tuple[int, int, int]]] = {source: []}
    queue = deque([source])
    targets = sorted(brokers, key=load.sort_key)
    while queue:
        giver = queue.popleft()
        for partition, replicas in chosen.items():
            if giver not in replicas:
                continue
            for taker in targets:
                if taker in replicas or taker in paths or not fits(partition, replicas - {giver} | {taker}):
                    continue
                paths[taker] = [*paths[giver], (partition, giver, taker)]
                if load.is_balanced_by_move(source, taker) and _exchange(chosen, fits, paths[taker]):
                    load.add([source], -1)
                    load.add([taker])
                    return True
                queue.append(taker)
    return False


def _exchange(chosen: Chosen, fits: Fits, path: list[tuple[int, int, int]]) -> bool:
    """Make the exchanges of ``path`` if they fit together, as a path may change a partition twice; return success."""
    after: Chosen = {}
    for partition, giver, taker in reversed(path):
        replicas = after.get(partition, chosen[partition])
        after[partition] = replicas - {giver} | {taker}
        if giver not in replicas or taker in replicas or not fits(partition, after[partition]):
            return False
    chosen.update(after)
    return True
