"""Draw scenarios from a seed: every setting in its dangerous and its harmless direction, and all ways to deploy."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from tests.campaigns.guards.scenario import (
    IMPORTED,
    MOVED,
    Action,
    AddPartitionsByHand,
    Allow,
    Command,
    Commit,
    Configure,
    DaysPass,
    DeleteByHand,
    ImportAlias,
    InState,
    Layer,
    RemoveFile,
    RenameFile,
    Resize,
    RestoreFile,
    RestoreState,
    Scenario,
    SetByHand,
    Settings,
    StateCommand,
    Step,
    TopicStart,
    Verb,
    Write,
)
from topicwarden.kinds.topic.setting_effects import EFFECTS
from topicwarden.model.topic import Allowance, AllowedChange

TOPICS: Final = 12
"""The number of topics in a project. Each topic has one sequence of changes."""
BROKERS: Final = 3
FOLDERS: Final = ("billing", "orders")

HOUR, DAY, MIB = 3_600_000, 86_400_000, 1 << 20
AGES: Final = (11 * DAY, 3 * DAY, 2 * HOUR, 0)
"""Record ages, far from every drawn limit. No record expires only because the scenario takes some minutes."""
_EXPIRED, _LAST_DAY = date(2020, 1, 1), datetime.now(UTC).date()
_MOST, _MOST_INT = str(2**63 - 1), str(2**31 - 1)

VALUES: Final[Mapping[str, tuple[str | None, ...]]] = {
    "cleanup.policy": ("delete", "compact", "compact,delete", "delete,compact", None),
    "compression.gzip.level": ("1", "9", None),
    "compression.lz4.level": ("1", "9", None),
    "compression.type": ("uncompressed", "gzip", "producer", None),
    "compression.zstd.level": ("3", "9", None),
    "delete.retention.ms": ("0", "1000", str(DAY), str(30 * DAY), _MOST, None),
    "file.delete.delay.ms": ("0", "100", "60000", _MOST, None),
    "flush.messages": ("1", "1000", _MOST, None),
    "flush.ms": ("0", "1000", "60000", _MOST, None),
    "follower.replication.throttled.replicas": ("*", None),
    "index.interval.bytes": ("0", "1024", "4096", "16384", _MOST_INT, None),
    "leader.replication.throttled.replicas": ("*", None),
    "max.compaction.lag.ms": ("1", str(HOUR), str(DAY), str(40 * DAY), _MOST, None),
    "max.message.bytes": ("0", "200000", "2097152", _MOST_INT, None),
    "message.timestamp.after.max.ms": ("0", "60000", str(HOUR), _MOST, None),
    "message.timestamp.before.max.ms": ("0", str(30 * DAY), str(40 * DAY), _MOST, None),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", None),
    "min.cleanable.dirty.ratio": ("0", "0.01", "0.5", "0.99", "1", None),
    "min.compaction.lag.ms": ("0", str(DAY), str(30 * DAY), _MOST, None),
    "min.insync.replicas": ("1", "2", "3", None),
    "preallocate": ("true", "false", None),
    "retention.bytes": ("-1", "0", "1", "2000", str(MIB), str(4 * MIB), _MOST, None),
    "retention.ms": ("-1", "0", "1", str(HOUR), str(DAY), str(5 * DAY), str(30 * DAY), _MOST, None),
    "segment.bytes": (str(MIB), str(4 * MIB), _MOST_INT, None),
    "segment.index.bytes": ("24", "1048576", "10485760", _MOST_INT, None),
    "segment.jitter.ms": ("0", "600000", _MOST, None),
    "segment.ms": ("1", str(HOUR), str(DAY), str(30 * DAY), _MOST, None),
    "unclean.leader.election.enable": ("true", "false", None),
}
NOT_DRAWN: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("message.downconversion.enable", "message.format.version", "message.timestamp.difference.max.ms"),
        "Kafka 4 has no such setting",
    ),
    **dict.fromkeys(
        (
            *("local.retention.bytes", "local.retention.ms", "remote.storage.enable"),
            *("remote.log.copy.disable", "remote.log.delete.on.disable"),
            *("remote.copy.lag.bytes", "remote.copy.lag.ms"),
        ),
        "these brokers have no remote storage",
    ),
    **dict.fromkeys(
        ("errors.deadletterqueue.group.enable", "max.decompressed.message.bytes"),
        "the brokers of these tests are older than Kafka 4.4",
    ),
}

_DESTRUCTIVE: Final = {
    "cleanup.policy": 4,
    "retention.ms": 4,
    "retention.bytes": 2,
    "min.compaction.lag.ms": 1,
    "min.cleanable.dirty.ratio": 1,
    "segment.ms": 1,
    "min.insync.replicas": 1,
}
_HAND_MADE: Final = tuple(name for name in VALUES if EFFECTS[name].allow)
_STARTS: Final[tuple[Settings, ...]] = (
    (("retention.ms", "-1"), ("segment.ms", str(HOUR))),
    (("retention.ms", str(30 * DAY)), ("segment.ms", str(HOUR))),
    (("retention.ms", str(30 * DAY)),),
    (("retention.ms", "-1"), ("segment.bytes", str(MIB))),
    (("retention.ms", "-1"), ("retention.bytes", str(MIB)), ("segment.bytes", str(8 * MIB))),
    (("cleanup.policy", "compact"), ("segment.ms", str(HOUR)), ("min.cleanable.dirty.ratio", "0.01")),
    (("cleanup.policy", "compact"), ("segment.ms", str(HOUR)), ("min.compaction.lag.ms", str(30 * DAY))),
    (("cleanup.policy", "compact"), ("segment.ms", str(30 * DAY))),
    (("cleanup.policy", "compact"), ("segment.ms", str(HOUR)), ("min.cleanable.dirty.ratio", "0.99")),
    (("cleanup.policy", "compact,delete"), ("retention.ms", "-1"), ("segment.ms", str(HOUR))),
)


class Chance:
    """Draw all parts of one scenario from one seed."""

    def __init__(self, name: str, seed: str) -> None:
        self._name = name
        self._random = random.Random(seed)
        self._factors: dict[str, int] = {}
        self._partitions: dict[str, int] = {}
        self._removed: set[str] = set()

    def scenario(self, topics: int = TOPICS) -> Scenario:
        starts = tuple(self._start(number) for number in range(topics))
        steps = tuple(self._step([start.name for start in starts]) for _ in range(self._random.randint(4, 8)))
        return Scenario(self._name, starts, steps)

    def _start(self, number: int) -> TopicStart:
        draw = self._random
        name = f"{self._name}-{number}.v1"
        config = dict(draw.choice(_STARTS))
        factor = draw.choice((1, 2, 3, 3))
        if factor > 1 and draw.random() < 0.5:
            config["min.insync.replicas"] = "2"
        if draw.random() < 0.3:
            setting = draw.choice(sorted({*VALUES} - {"cleanup.policy", "min.insync.replicas"}))
            if (value := draw.choice(VALUES[setting])) is not None:
                config.setdefault(setting, value)
        self._factors[name], self._partitions[name] = factor, draw.choice((1, 2, 2))
        compacted = "compact" in (config.get("cleanup.policy") or "")
        writes = () if draw.random() < 0.1 else (self._write(name, compacted, large="segment.bytes" in config),)
        allows = (Allowance(draw.choice(list(AllowedChange))),) if draw.random() < 0.3 else ()
        folder = draw.choice(FOLDERS)
        settings = tuple(sorted(config.items()))
        return TopicStart(name, folder, self._partitions[name], factor, settings, allows, writes)

    def _write(self, topic: str, compacted: bool, large: bool = False) -> Write:
        draw = self._random
        ages: tuple[int | None, ...] = tuple(age for age in AGES if draw.random() < 0.85) or AGES
        if draw.random() < 0.2:
            ages = (None, *ages[: draw.randint(0, len(ages))])
        keyless = not compacted and draw.random() < 0.5
        return Write(topic, ages, keyless, large, draw.random() < 0.2, aborted=draw.random() < 0.15)

    def _step(self, topics: list[str]) -> Step:
        draw = self._random
        chosen = draw.sample(topics, min(len(topics), draw.randint(2, 6)))
        actions = tuple(action for topic in chosen for action in self._actions(topic))
        down = draw.randint(1, BROKERS) if draw.random() < 0.08 else None
        repaired = tuple(topic for topic in topics if draw.random() < 0.5)
        command = self._command(topics, chosen)
        servers = draw.choice(("b", "ab", "ba")) if down is None and draw.random() < 0.1 else "a"
        twice = command.verb in (Verb.UP, Verb.DESTROY) and servers == "a" and draw.random() < 0.05
        return Step(actions, command, down, repaired, draw.random() < 0.2, servers, twice)

    def _command(self, topics: list[str], edited: list[str]) -> Command:
        draw = self._random
        some = tuple(sorted({*draw.sample(topics, min(2, len(topics))), *edited[:2]}))
        suffix = draw.choices(("", IMPORTED, MOVED), (90, 5, 5))[0]
        weights = {
            Command(Verb.UP): 28,
            Command(Verb.DEPLOY): 10,
            Command(Verb.UP, ("--continue-on-error",)): 4,
            Command(Verb.UP, ("--refresh",)): 8,
            Command(Verb.UP, ("--refresh", "--run-program")): 3,
            Command(Verb.UP, ("--parallel", "1")): 2,
            Command(Verb.UP, (), "--target", some, suffix): 8,
            Command(Verb.UP, ("--target-dependents",), "--target", some, suffix): 3,
            Command(Verb.UP, (), "--exclude", some, suffix): 4,
            Command(Verb.UP, ("--exclude-dependents",), "--exclude", some, suffix): 2,
            Command(Verb.UP, (), "--replace", some[:1], suffix): 8,
            Command(Verb.UP, (), "--target-replace", some[:1], suffix): 4,
            Command(Verb.REFRESH): 4,
            Command(Verb.REFRESH, ("--run-program",)): 2,
            Command(Verb.REFRESH, (), "--target", some, suffix): 2,
            Command(Verb.DESTROY): 4,
            Command(Verb.DESTROY, ("--refresh",)): 2,
            Command(Verb.DESTROY, ("--run-program",)): 3,
            Command(Verb.DESTROY, ("--continue-on-error",)): 2,
            Command(Verb.DESTROY, ("--preview-only",)): 1,
            Command(Verb.DESTROY, ("--exclude-protected",)): 4,
            Command(Verb.DESTROY, (), "--target", some[:1], suffix): 4,
            Command(Verb.DESTROY, ("--target-dependents",), "--target", some, suffix): 2,
            Command(Verb.DESTROY, (), "--exclude", some, suffix): 2,
            Command(Verb.REBALANCE): 8,
        }
        return draw.choices(tuple(weights), tuple(weights.values()))[0]

    def _actions(self, topic: str) -> list[Action]:
        draw = self._random
        if topic in self._removed and draw.random() < 0.7:
            self._removed.discard(topic)
            return [RestoreFile(topic)]
        return draw.choices(
            (
                self._configure,
                self._resize,
                self._remove,
                self._allow,
                self._by_hand,
                self._in_the_state,
                self._clients,
            ),
            (52, 10, 6, 8, 12, 12, 8),
        )[0](topic)

    def _configure(self, topic: str) -> list[Action]:
        draw = self._random
        names = draw.sample(sorted(VALUES), draw.choice((1, 1, 2, 3)))
        if draw.random() < 0.65:  # prefer the most destructive settings
            names[0] = draw.choices(tuple(_DESTRUCTIVE), tuple(_DESTRUCTIVE.values()))[0]
        settings = tuple((name, draw.choice(VALUES[name])) for name in dict.fromkeys(names))
        layer = draw.choices(tuple(Layer), (80, 8, 12))[0]
        words = {word for name, _ in settings for word in EFFECTS[name].allow}
        return [Configure(topic, settings, layer), *self._allow_actions(topic, words)]

    def _resize(self, topic: str) -> list[Action]:
        draw = self._random
        before = self._partitions[topic]
        self._partitions[topic] = draw.choice((1, 2, 3, 4))
        factor = draw.choice((None, None, 1, 2, 3))
        words = {AllowedChange.RECREATE} if self._partitions[topic] < before else set()
        if factor is not None and factor < self._factors[topic]:
            words.add(AllowedChange.REDUCE_REPLICAS)
        self._factors[topic] = factor or self._factors[topic]
        return [Resize(topic, self._partitions[topic], factor), *self._allow_actions(topic, words)]

    def _allow_actions(self, topic: str, words: set[AllowedChange]) -> list[Action]:
        """Return the edit of the allows: all or some of the required allows, none, wrong ones, or expired ones."""
        draw = self._random
        ordered = sorted(words)
        if not ordered:
            return []
        kind = draw.choices(("right", "today", "none", "wrong", "expired", "some"), (50, 10, 12, 10, 10, 8))[0]
        if kind == "none":
            return []
        if kind == "wrong":
            ordered = [word for word in AllowedChange if word not in words]
        if kind == "some":
            ordered = ordered[:1]
        until = {"expired": _EXPIRED, "today": _LAST_DAY}.get(kind)
        return [Allow(topic, tuple(Allowance(word, until) for word in ordered))]

    def _remove(self, topic: str) -> list[Action]:
        if self._random.random() < 0.3:
            return [RenameFile(topic)]
        self._removed.add(topic)
        return [RemoveFile(topic)]

    def _allow(self, topic: str) -> list[Action]:
        draw = self._random
        words = draw.sample(list(AllowedChange), draw.randint(0, 2))
        if draw.random() < 0.5:
            words = [AllowedChange.DELETE]
        until = draw.choices((None, _EXPIRED, _LAST_DAY), (60, 15, 25))[0]
        return [Allow(topic, tuple(Allowance(word, until) for word in words))]

    def _by_hand(self, topic: str) -> list[Action]:
        draw = self._random
        what = draw.random()
        if what < 0.12:
            return [DeleteByHand(topic)]
        if what < 0.27:
            return [AddPartitionsByHand(topic, draw.choice((3, 4, 5)))]
        names = draw.sample(_HAND_MADE, draw.choice((1, 2)))
        return [SetByHand(topic, tuple((name, draw.choice(VALUES[name])) for name in names))]

    def _in_the_state(self, topic: str) -> list[Action]:
        draw = self._random
        command = draw.choice(list(StateCommand))
        action = draw.choices(
            (InState(topic, command), ImportAlias(topic), DaysPass(topic), RestoreState(topic)), (60, 12, 16, 12)
        )[0]
        unprotected = draw.random() < 0.3 and not isinstance(action, DaysPass | RestoreState)
        return [InState(topic, StateCommand.UNPROTECT), action] if unprotected else [action]

    def _clients(self, topic: str) -> list[Action]:
        if self._random.random() < 0.4:
            return [Commit(topic, self._random.randint(0, 20))]
        return [replace(self._write(topic, compacted=False), keyless=False)]
