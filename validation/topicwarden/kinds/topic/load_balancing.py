"""Balances load: chooses among equally good brokers so that all brokers have about the same load."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

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
