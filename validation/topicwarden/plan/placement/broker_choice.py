"""Which brokers are the best for one partition that is not right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from topicwarden.kafka.snapshot import PartitionReplicas, Snapshot
from topicwarden.plan.placement.load_balancing import BrokerLoad


@dataclass(frozen=True)
class PartitionRepair:
    """A partition that is not right, and how good it would be on other brokers."""

    state: PartitionReplicas
    factor: int
    racks: Mapping[int, str]

    def cost(self, brokers: frozenset[int]) -> tuple[int, ...]:
        """The less the better: racks that lack, copies, replicas out of sync, a new preferred leader, uneven racks."""
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
        """The best brokers, the least loaded ones of those that are as good."""
        alive = [broker for broker in self.state.replicas if broker in self.racks]
        for size in range(min(self.factor, len(alive)), -1, -1):
            whole = [self._filled(kept, load) for kept in map(frozenset, combinations(alive, size))]
            good = [brokers for brokers in whole if _spread(brokers, self.racks) == _most(self.factor, self.racks)]
            if good:
                return min(good, key=lambda found: (self.cost(found), sorted(map(load.of, found), reverse=True)))
        raise AssertionError("with no replica kept, as many racks as there are can be had")

    def _filled(self, kept: frozenset[int], load: BrokerLoad) -> frozenset[int]:
        while len(kept) < self.factor:
            racks = Counter(self.racks[broker] for broker in kept)
            free = self.racks.keys() - kept
            kept |= {min(free, key=lambda broker: (racks[self.racks[broker]], *load.of(broker)))}
        return kept


def racks_of(snapshot: Snapshot) -> dict[int, str]:
    """The living brokers and their racks; each in a rack of its own where one does not say."""
    named = {broker: rack for broker, rack in snapshot.racks.items() if rack is not None}
    return named if len(named) == len(snapshot.racks) else {broker: str(broker) for broker in snapshot.racks}


def _most(factor: int, racks: Mapping[int, str]) -> int:
    return min(factor, len(set(racks.values())))


def _spread(brokers: Iterable[int], racks: Mapping[int, str]) -> int:
    return len({racks[broker] for broker in brokers})


def is_right(state: PartitionReplicas, factor: int, racks: Mapping[int, str]) -> bool:
    """Whether nothing is to be moved: ``factor`` replicas, all on living brokers, in as many racks as can be."""
    alive = all(broker in racks for broker in state.replicas)
    return len(state.replicas) == factor and alive and _spread(state.replicas, racks) == _most(factor, racks)
