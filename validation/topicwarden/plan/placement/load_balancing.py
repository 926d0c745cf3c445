"""Evening out: which of several equally good choices lets every broker carry about as much as the others."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

Chosen: TypeAlias = dict[int, frozenset[int]]
"""By partition, the brokers chosen for it."""

Fits: TypeAlias = Callable[[int, frozenset[int]], bool]
"""Whether other brokers would be as good a choice for a partition."""


@dataclass
class BrokerLoad:
    """How much each broker carries: of one topic, and of every topic; ``log_bytes`` decides between equals."""

    everywhere: Counter[int]
    log_bytes: Counter[int]
    here: Counter[int] = field(default_factory=Counter)

    def add(self, brokers: Iterable[int], amount: int = 1) -> None:
        for broker in brokers:
            self.here[broker] += amount
            self.everywhere[broker] += amount

    def of(self, broker: int) -> tuple[int, int, int, int]:
        """What to prefer the least loaded broker by; no two brokers are equal."""
        return self.here[broker], self.everywhere[broker], self.log_bytes[broker], broker

    def eases(self, source: int, target: int) -> bool:
        """Whether one replica less on ``source`` and one more on ``target`` evens out topic or cluster."""
        ahead = self.here[source] - self.here[target]
        return ahead > 1 or (ahead == 1 and self.everywhere[source] > self.everywhere[target] + 1)


def even_out(chosen: Chosen, fits: Fits, load: BrokerLoad, brokers: Collection[int]) -> None:
    """Exchanges brokers in ``chosen`` for others that fit, as long as that eases ``load``; both are changed.

    One exchange may only be possible after another, so that paths of exchanges are looked for: with nothing
    but exchanges of a kind on its way, a load without such a path is the most even one (a minimal flow of convex cost).
    """
    eased = True
    while eased:
        sources = sorted(brokers, key=load.of, reverse=True)
        eased = any(_eased_from(source, chosen, fits, load, brokers) for source in sources)


def _eased_from(source: int, chosen: Chosen, fits: Fits, load: BrokerLoad, brokers: Collection[int]) -> bool:
    if not any(load.eases(source, target) for target in brokers):
        return False
    ways: dict[int, list[tuple[int, int, int]]] = {source: []}
    waiting = deque([source])
    targets = sorted(brokers, key=load.of)
    while waiting:
        giving = waiting.popleft()
        for partition, held in chosen.items():
            if giving not in held:
                continue
            for taking in targets:
                if taking in held or taking in ways or not fits(partition, held - {giving} | {taking}):
                    continue
                ways[taking] = [*ways[giving], (partition, giving, taking)]
                if load.eases(source, taking) and _exchanged(chosen, fits, ways[taking]):
                    load.add([source], -1)
                    load.add([taking])
                    return True
                waiting.append(taking)
    return False


def _exchanged(chosen: Chosen, fits: Fits, way: list[tuple[int, int, int]]) -> bool:
    """Makes the exchanges if they fit together: a partition may be asked for two."""
    after: Chosen = {}
    for partition, giving, taking in reversed(way):
        held = after.get(partition, chosen[partition])
        after[partition] = held - {giving} | {taking}
        if giving not in held or taking in held or not fits(partition, after[partition]):
            return False
    chosen.update(after)
    return True
