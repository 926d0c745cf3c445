"""Chooses the brokers of partitions: of new topics, and of partitions whose replicas are not placed as declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.kinds.topic.load_balancing import BrokerLoad


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
