"""Places the replicas of new topics: over all racks, with balanced load, so that no rebalance is needed later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from topicwarden.plan.placement.broker_choice import filled
from topicwarden.plan.placement.load_balancing import BrokerLoad


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
