"""Topics put together from another tool's values, each judged at its place by Kafka's own definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from topicwarden.problem import Location, Problem
from topicwarden.specs import configs
from topicwarden.specs.foreign.source import at
from topicwarden.specs.names import name_problem
from topicwarden.specs.nodes import Document, KeyPath
from topicwarden.specs.words import guess, quoted, seen
from topicwarden.topic import INTERNAL_TOPICS, Topic

Settings: TypeAlias = dict[str, tuple[Any, Location, Location]]
"""By name, a setting's value, and the places of its key and of its value."""

_MOST: Final = {"partitions": 2**31 - 1, "replication factor": 2**15 - 1}


@dataclass(frozen=True)
class Found:
    """A topic of a foreign file, and where it stands."""

    topic: Topic
    place: Location


@dataclass
class Reading:
    """What was read so far."""

    topics: list[Found] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, place: Location, message: str, rule: str) -> None:
        self.problems.append(Problem(place, message, rule))

    def topic(self, values: Values) -> None:
        """Takes a topic, or what is wrong with it; Kafka's own topics are passed over."""
        name, place = values.name(self)
        if name in INTERNAL_TOPICS:
            return
        before = len(self.problems)
        if name is not None and (problem := name_problem(name)):
            self.wrong(place, problem, "topic-name")
        partitions = self._count(values, "partitions")
        replicas = self._count(values, "replication factor")
        config = {key: self._setting(key, value, places) for key, (value, *places) in values.config.items()}
        if name is None or partitions is None or replicas is None or len(self.problems) > before:
            return
        kept = {key: value for key, value in config.items() if value is not None}
        topic = Topic(name, partitions, replicas, dict(sorted(kept.items())), description=values.description)
        self.topics.append(Found(topic, place))

    def _count(self, values: Values, what: str) -> int | None:
        value, place = values.counts[what]
        number = _whole(value)
        if number is not None and 1 <= number <= _MOST[what]:
            return number
        if value is None or number == -1:
            message = f"expected the {what}, seen {'nothing' if value is None else '-1'}: the tool leaves it to the"
            self.wrong(place, f"{message} brokers; write the number that the topic has", "missing")
        else:
            self.wrong(
                place, f"expected the {what}, a whole number from 1 to {_MOST[what]}, seen {seen(value)}", "value"
            )
        return None

    def _setting(self, name: str, value: Any, places: list[Location]) -> str | None:
        """Kafka's spelling of a setting; None for one that is not set. ``places`` are of the key and of the value."""
        definition = configs.definition(name)
        if definition is None:
            meant = configs.nearest(name)
            message = f"Kafka {configs.kafka_version()} has no topic configuration {quoted(name)}"
            self.wrong(places[0], message + (f"; did you mean {meant}?" if meant else ""), "config-unknown")
            return None
        if value is None:
            return None
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            self.wrong(places[-1], f"{name}: expected {definition.expected}, seen {seen(value)}", "config-value")
            return None
        spelled = _spelled(value)
        problems = [each.problem(spelled) for each in configs.variants(name)]
        if None not in problems:
            self.wrong(places[-1], f"{name}: {problems[0]}", "config-value")
        # As DescribeConfigs gives it back: without blanks, booleans in lower case.
        if definition.type == "list":
            return ",".join(item.strip() for item in spelled.split(","))
        return spelled.strip().lower() if definition.type == "boolean" else spelled.strip()


@dataclass(frozen=True)
class Values:
    """What a foreign file says of one topic, each value with its place; of a setting also the place of its key."""

    named: tuple[Any, Location]
    counts: Mapping[str, tuple[Any, Location]]
    config: Mapping[str, tuple[Any, Location, Location]]
    description: str | None = None

    def name(self, reading: Reading) -> tuple[str | None, Location]:
        value, place = self.named
        if isinstance(value, str) and value.strip():
            return value.strip(), place
        reading.wrong(place, f"expected the topic's name, seen {seen(value)}", "missing")
        return None, place


def settings(document: Document, path: KeyPath, reading: Reading) -> Settings:
    """The mapping of settings at ``path``; empty where there is none."""
    value, place = at(document, path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reading.wrong(place, f"{path[-1]}: expected a mapping of settings, seen {seen(value)}", "type")
        return {}
    below = [(name, held, (*path, name)) for name, held in value.items()]
    return {name: (held, document.at_key(where), document.at(where)) for name, held, where in below}


def unknown_keys(document: Document, path: KeyPath, known: tuple[str, ...], reading: Reading) -> None:
    """Reports keys at ``path`` that the format does not have: what they say would be passed over."""
    value, _ = at(document, path)
    for name in value if isinstance(value, dict) else ():
        if name not in known:
            message = f"unknown key {quoted(name)}{guess(name, known) or '; expected one of ' + ', '.join(known)}"
            reading.wrong(document.at_key((*path, name)), message, "unknown-key")


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    digits = isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and value.isascii()
    return int(value) if digits else None


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)
