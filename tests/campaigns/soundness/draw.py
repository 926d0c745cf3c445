"""Draw one variant of a fault, its topic and its records, from a seed; see ``faults``.

A planted fault is a history without actions before the first audit, so the first audit sees the topic without faults.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kafka.partitioner.default import murmur2

from tests.campaigns.soundness.scenario import Action, History, Record, Step, Write
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic

_QUICK: Final = {"segment.ms": "100", "compression.type": "producer"}


@dataclass
class Draw:
    """One variant: its name, and its random generator."""

    name: str
    random: random.Random

    def topic(self, most: int = 4, least: int = 1, /, **settings: str) -> Topic:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        return Topic(self.name, self.random.randint(least, most), 1, _QUICK | config)

    def value(self, size: int | None = None) -> bytes:
        return json.dumps({"n": self.random.random(), "x": "x" * (size or self.random.choice((0, 20, 300)))}).encode()

    def records(self, topic: Topic, number: int, keys: int = 8, **same: object) -> tuple[Record, ...]:
        """Return well-formed records, in the partitions that Java's producer would choose."""
        found = []
        for _ in range(number):
            key = f"key-{self.random.randrange(keys)}".encode()
            found.append(Record(murmur2_partition(key, topic.partitions), key, self.value(), headers=("trace-id",)))
        return tuple(replace(record, **same) for record in found)  # type: ignore[arg-type]

    def among(self, good: tuple[Record, ...], bad: tuple[Record, ...]) -> tuple[Record, ...]:
        candidates = [*good, *bad]
        self.random.shuffle(candidates)
        return tuple(candidates)

    def few(self) -> int:
        return self.random.randint(1, 6)


Plant = Callable[[Draw], History]


@dataclass(frozen=True)
class Fault:
    """A fault. At least one of the checks ``found_by`` must fail.

    ``hidden`` means that the check may also be undecidable, if the oracle finds the reason on the disk. ``stuck`` means
    that the fault needs a broker whose background tasks are blocked.
    """

    plant: Plant
    found_by: tuple[str, ...]
    stuck: bool = False
    hidden: bool = False


def history_of(
    topic: Topic, contents: Contents | None = None, *actions: Action, late: tuple[Action, ...] = ()
) -> History:
    """Return a history. ``actions`` run between audits 1 and 2, ``late`` actions between audits 2 and 3."""
    steps = [Step(1, number / max(1, len(actions)), action) for number, action in enumerate(actions)]
    steps += [Step(2, 0.0, action) for action in late]
    return History(topic, replace(topic, contents=contents or Contents()), tuple(steps))


def murmur2_partition(key: bytes, partitions: int) -> int:
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


def repeats(draw: Draw, keys: int = 1, size: int | None = None) -> tuple[Action, ...]:
    """Return the writes of repeated keys, each in its own segment, and of a record that rolls the last segment."""
    last = Record(0, b"last", b"{}", ahead=1_500)
    number = draw.random.randint(8, 16)
    candidates = (Write((Record(0, f"key-{n % keys}".encode(), draw.value(size)),)) for n in range(number))
    return (*candidates, Write((last,)))
