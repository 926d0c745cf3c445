"""Define a random history: one topic, its settings, and the actions on the topic between audits."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kafka.admin import ACLOperation
from kafka.partitioner.default import murmur2

from tests.campaigns.soundness.drawn_fields import DrawnFields, daily_arrival
from topicwarden.model.arrival import ArrivalContents
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    PartitionContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.topic import Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

DAY_MS: Final = 86_400_000
PHASES: Final = 3
"""The intervals before the first audit, between audits 1 and 2, and between audits 2 and 3."""


@dataclass(frozen=True)
class Record:
    """A record. ``ahead`` is its timestamp minus the write time (ms). ``stamp`` is a fixed timestamp instead."""

    partition: int
    key: bytes | None
    value: bytes | None
    ahead: int = 0
    headers: tuple[str, ...] = ()
    stamp: int | None = None


@dataclass(frozen=True)
class Write:
    """``times`` is 2 if the producer sends the batch again, with the same timestamps."""

    records: tuple[Record, ...]
    times: int = 1


@dataclass(frozen=True)
class Transact:
    """A transaction. ``ends`` is ``commit``, ``abort``, or ``leave`` if the producer disappears."""

    records: tuple[Record, ...]
    ends: str
    holds: float


@dataclass(frozen=True)
class Configure:
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Grow:
    by: int


@dataclass(frozen=True)
class Trim:
    """DeleteRecords for all records before this share of the partition's offsets."""

    partition: int
    share: float


@dataclass(frozen=True)
class Recreate:
    pass


@dataclass(frozen=True)
class Drop:
    pass


@dataclass(frozen=True)
class Deny:
    """Restrict the user to these operations on the topic from now on."""

    kept: tuple[ACLOperation, ...]


Action = Write | Transact | Configure | Grow | Trim | Recreate | Drop | Deny


@dataclass(frozen=True)
class Step:
    """An action in an interval between audits. ``at`` is the time of the action as a share of the interval."""

    phase: int
    at: float
    action: Action


@dataclass(frozen=True)
class History:
    topic: Topic
    """The topic as created."""
    declared: Topic | None
    steps: tuple[Step, ...]
    seed: str = ""
    wrong: frozenset[bytes] | None = None
    """The values that violate the declaration, if the oracle cannot derive them."""


def declaration(topic: Topic) -> Declaration:
    """Return a declaration, as if a file contained the topic. The locations have no meaning."""
    document = ParsedDocument(f"topics/{topic.name}.yaml")
    return Declaration(topic, SettingLocations(document, [(document, ())], {}))


@dataclass
class Chance:
    """Draw all parts of one history from its seed."""

    name: str
    seed: str
    peers: tuple[str, ...] = ()
    """The topics to which this one may refer."""
    random: random.Random = field(init=False)
    fields: DrawnFields = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.fields = DrawnFields(random.Random(f"{self.seed}/fields"))

    def history(self) -> History:
        draw = self.random
        config = self.settings()
        topic = Topic(self.name, draw.choice((1, 1, 2, 3)), 1, config)
        declared = replace(topic, contents=self.contents()) if draw.random() < 0.95 else None
        if declared and draw.random() < 0.1:
            declared = replace(declared, partitions=declared.partitions + 1)
        steps = sorted(self.steps(topic), key=lambda step: (step.phase, step.at))
        return History(topic, declared, tuple(steps), self.seed)

    def of(self, topic: Topic) -> History:
        """Return a history of a topic without actions."""
        return History(topic, topic, (), self.seed)

    def settings(self) -> dict[str, str]:
        draw = self.random
        policy = draw.choice((*["delete"] * 2, *["compact"] * 3, *["compact,delete"] * 2, ""))
        config = {
            "cleanup.policy": policy,
            "segment.ms": str(draw.choice((100, 100, 300, 1_000, 5_000, 600_000))),
            "compression.type": draw.choice(("producer", "producer", "gzip", "lz4", "snappy", "zstd")),
        }
        chances = {
            "segment.bytes": (0.25, (1 << 20,)),
            "segment.jitter.ms": (0.1, (50, 1_000)),
            "retention.ms": (0.7, (500, 2_000, 4_000, 8_000, 60_000, -1)),
            "retention.bytes": (0.25, (1, 100_000, 1 << 20)),
            "min.compaction.lag.ms": (0.2, (300, 2_000, 10_000)),
            "max.compaction.lag.ms": (0.35, (500, 1_000, 3_000, 10_000)),
            "delete.retention.ms": (0.4, (0, 100, 1_000, 5_000)),
            "min.cleanable.dirty.ratio": (0.7, (0.0, 0.01, 0.1, 0.3, 0.8, 1.0)),
            "message.timestamp.type": (0.15, ("LogAppendTime",)),
        }
        for name, (chance, values) in chances.items():
            if draw.random() < chance:
                config[name] = str(draw.choice(values))
        least, most = (int(config.get(f"{bound}.compaction.lag.ms", "-1")) for bound in ("min", "max"))
        if 0 <= most < least:
            del config["min.compaction.lag.ms"]
        return config

    def contents(self) -> Contents:
        draw = self.random

        def maybe(chance: float) -> bool:
            return draw.random() < chance

        rules = self.fields.rules(self.name, self.peers)
        rules |= {"arrival": daily_arrival(draw)} if self.fields.daily else {}
        drawn = Contents(
            key=KeyContents(
                format="string" if maybe(0.8) else None,
                required=maybe(0.4),
                max_share=0.3 if maybe(0.2) else None,
                partitioner="murmur2" if maybe(0.3) else None,
            ),
            value=ValueContents(format="json" if maybe(0.4) or rules else None),
            headers=HeaderContents(required=("trace-id",) if maybe(0.3) else ()),
            timestamps=TimestampContents(
                type="CreateTime" if maybe(0.2) else None,
                max_ahead=draw.choice((1_000, 3_600_000)) if maybe(0.3) else None,
                max_late=draw.choice((1_000, 3_600_000)) if maybe(0.3) else None,
            ),
            records=RecordContents(max_bytes=draw.choice((100, 1_000)) if maybe(0.3) else None),
            partitions=PartitionContents(max_skew=1.5 if maybe(0.2) else None),
            arrival=ArrivalContents(
                max_silence=1_000 if maybe(0.3) else None,
                **({"every": 60_000, "min": 1, "max": draw.choice((20, 200))} if maybe(0.3) else {}),
            ),
        )
        return drawn.model_copy(update=rules)

    def steps(self, topic: Topic) -> Iterator[Step]:
        draw = self.random
        compacted, large = topic.compacted, topic.config.get("segment.bytes") is not None
        keys = draw.choice((1, 3, 20))
        habits = Habits(
            topic,
            keys,
            keyless=0.0 if compacted else draw.choice((0.0, 0.3)),
            murmur2=draw.random() < 0.7,
            empty=draw.choice((0.0, 0.0, 0.1)),
            undated=draw.choice((0.0, 0.0, 0.0, 0.1, 1.0)),
            fixed=draw.choice((0.0, 0.0, 0.0, 0.1, 1.0)),
        )
        for phase, most in zip(range(PHASES), (14, 12, 5), strict=True):
            for _ in range(draw.randint(0, most)):
                batch = tuple(self.batch(habits, draw.choice((1, 2, 5, 20))))
                yield Step(phase, draw.random(), Write(batch, 2 if self.fields.is_sent_again() else 1))
        if large:
            for _ in range(draw.randint(1, 4)):
                phase = draw.choice((0, 0, 1))
                yield Step(phase, draw.random(), Write(tuple(self.batch(habits, 18, size=60_000))))
        if draw.random() < 0.2:
            yield from self.mirror(topic)
        if draw.random() < 0.15:
            yield Step(draw.randrange(PHASES), draw.random(), Write(tuple(self.futures(habits))))
        if draw.random() < 0.3:
            for _ in range(draw.choice((1, 3, 30))):
                again = draw.random() < 0.2
                ends = draw.choice(("commit", "commit", "abort", "leave") if keys > 1 else ("commit",))
                current = tuple(self.batch(habits, draw.choice((1, 1, 3))))
                phase, at = draw.randrange(2), draw.random()
                yield Step(phase, at, Transact(current, ends, draw.choice((0.0, 0.0, 1.0))))
                if again:  # an application that writes the records of its transaction once more
                    yield Step(phase, at, Write(current))
        yield from self.turns(topic)

    def turns(self, topic: Topic) -> Iterator[Step]:
        """Yield the administrative actions on the topic."""
        draw = self.random
        if draw.random() < 0.35:
            # Never return to an earlier setting. If two audits see the same settings, they assume no change in between.
            drawn = Chance(self.name, f"{self.seed}/other").settings()
            other = {name: value for name, value in drawn.items() if topic.config.get(name) != value}
            for name in draw.sample(sorted(other), min(len(other), draw.choice((1, 2, 9)))):
                yield Step(draw.randrange(PHASES), draw.random(), Configure(((name, other[name]),)))
        if draw.random() < 0.3:
            for _ in range(draw.choice((1, 1, 2))):
                yield Step(draw.randrange(PHASES), draw.random(), Grow(draw.choice((1, 2, 3))))
        if draw.random() < 0.2:
            # Offsets that hold no record remain at the log start, if the cleaner has run before.
            policies = ("delete", "compact", "compact,delete")
            policy = draw.choice([each for each in policies if each != topic.config["cleanup.policy"]])
            yield Step(draw.choice((1, 2)), draw.random(), Configure((("cleanup.policy", policy),)))
        if draw.random() < 0.15:
            yield Step(draw.randrange(PHASES), draw.random(), Trim(draw.randrange(topic.partitions), draw.random()))
        if draw.random() < 0.07:
            yield Step(draw.randrange(1, PHASES), draw.random(), Recreate())
        elif draw.random() < 0.03:
            yield Step(draw.randrange(1, PHASES), draw.random(), Drop())

    def mirror(self, topic: Topic) -> Iterator[Step]:
        """Yield writes of one consumer that copies a topic of another number of partitions, which may be reached later.

        The consumer hands out long runs of one partition, so that keys are not independent of their own hashes. Its
        producer places them by murmur2, and keeps the number of partitions that it knows.
        """
        draw = self.random
        source = draw.choice([each for each in (1, 2, 3, 4, 6, 8, 12) if each != topic.partitions])
        keys = [f"mirrored-{number}".encode() for number in range(draw.choice((60, 200, 600)))]
        runs = sorted(keys, key=lambda key: (murmur2(key) & 0x7FFFFFFF) % source)
        records = tuple(
            Record((murmur2(key) & 0x7FFFFFFF) % topic.partitions, key, self.value(None), headers=self.headers())
            for key in runs
        )
        half = draw.randrange(len(records))
        yield Step(0, 0.8 * draw.random(), Write(records[:half]))
        yield Step(1, draw.random(), Write(records[half:]))
        if source > topic.partitions:
            yield Step(draw.choice((0, 1)), draw.uniform(0.8, 1.0), Grow(source - topic.partitions))

    def futures(self, habits: Habits) -> Iterator[Record]:
        """Yield records; several of them have timestamps in the future, each its own."""
        for record in self.batch(habits, self.random.randint(3, 9)):
            ahead = self.random.choice((0, 5_000, 60_000, DAY_MS, 100 * DAY_MS))
            yield replace(record, ahead=ahead)

    def batch(self, habits: Habits, records: int, size: int | None = None) -> Iterator[Record]:
        draw = self.random
        ahead = draw.choice((0,) * 8 + (-DAY_MS, -3_000, 5_000, 15_000, DAY_MS))
        for _ in range(records):
            number = draw.randrange(habits.keys)
            key = None if draw.random() < habits.keyless else f"key-{number}".encode()
            if key and draw.random() < habits.empty:
                key = b""
            partition = habits.partition_of(key) if habits.murmur2 else draw.randrange(habits.topic.partitions)
            if number < habits.fixed * habits.keys:
                partition = habits.topic.partitions - 1
            stamp = -1 if draw.random() < habits.undated else self.fields.stamp()
            ago = ahead + draw.choice((0, 0, -50))
            yield Record(partition, key, self.value(size), ago, self.headers(), stamp)

    def value(self, size: int | None) -> bytes | None:
        draw = self.random
        if size is not None:
            content = {"n": draw.random(), "x": draw.randbytes(size // 2).hex()}
            return json.dumps(content | self.fields.values()).encode()
        if draw.random() < 0.15:
            return None
        if draw.random() < 0.02:
            return b""
        if draw.random() < 0.03:
            return b"no { json"
        content = {"n": draw.random(), "x": "x" * draw.choice((0, 50, 400))}
        return json.dumps(content | self.fields.values()).encode()

    def headers(self) -> tuple[str, ...]:
        return ("trace-id",) if self.random.random() < 0.9 else ()


@dataclass(frozen=True)
class Habits:
    """The way in which a topic's producers write.

    ``keyless``, ``empty`` and ``undated`` are shares of the records: without a key, with an empty one, and without a
    timestamp. ``fixed`` is the share of the keys that always go to the last partition.
    """

    topic: Topic
    keys: int
    keyless: float
    murmur2: bool
    empty: float
    undated: float
    fixed: float

    def partition_of(self, key: bytes | None) -> int:
        return 0 if key is None else (murmur2(key) & 0x7FFFFFFF) % self.topic.partitions
