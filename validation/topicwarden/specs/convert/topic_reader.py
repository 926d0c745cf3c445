"""Topics put together from another tool's values, each judged at its place by Kafka's own definitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import INTERNAL_TOPICS, Topic
from topicwarden.specs import configs
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.unread_fields import UnreadFields, UnreadText
from topicwarden.specs.message_text import guess, quoted, seen
from topicwarden.specs.topic_names import name_problem
from topicwarden.specs.yaml_nodes import KeyPath

Settings: TypeAlias = dict[str, tuple[Any, Location, Location]]
"""By name, a setting's value, and the places of its key and of its value."""

NOT_READ: Final = "not imported, because a topic's YAML has no place for it"
COMMENTED: Final = "commented out, so not imported"
_MOST: Final = {"partitions": 2**31 - 1, "replication factor": 2**15 - 1}
_LINE: Final = re.compile(r"line [0-9]+")
_MOST_LINES: Final = 20
"""How many lines without a name, such as comments, a note lists before it counts the rest."""
_THROTTLE: Final = ".replication.throttled.replicas"


@dataclass(frozen=True)
class ConvertedTopic:
    """A topic of a foreign file, where it stands, and what is kept of it as comments."""

    topic: Topic
    place: Location
    comments: tuple[str, ...] = ()


@dataclass
class TopicReader:
    """What was read so far, and what of the file is accounted for.

    ``left_out`` counts the topics that the file itself excludes, such as those marked for deletion.
    """

    source: SourceFile
    topics: list[ConvertedTopic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: int = 0
    _accounts: list[UnreadFields | UnreadText] = field(default_factory=list)
    _notes: dict[str, list[tuple[Location, str]]] = field(default_factory=dict)

    def documents(self) -> list[UnreadFields]:
        """Return the documents of the file. Each field that the reader does not account for is named in a note."""
        fields = [UnreadFields(self.source, document) for document in self.source.documents]
        self._accounts += fields
        self.problems += self.source.problems
        for offset, comment in self.source.comments:
            line = comment.partition("KAFKA_CREATE_TOPICS")
            reason = COMMENTED if line[1] else "comments are not imported"
            place = self.source.location(offset)
            self.note(place, line[1] or f"line {place.line}", reason)
        return fields

    def text(self, *, shown: bool) -> UnreadText:
        """Return the text of the file. Text that the reader does not account for is named in a note.

        ``shown`` quotes that text, which must not hold secrets.
        """
        text = UnreadText(self.source, shown=shown)
        self._accounts.append(text)
        return text

    def wrong(self, place: Location, message: str, rule: str) -> None:
        self.problems.append(Problem(place, message, rule))

    def note(self, place: Location, what: str, reason: str) -> None:
        """Name something that is not converted; notes with the same reason become one."""
        self._notes.setdefault(reason, []).append((place, what))

    def leave(self, place: Location, name: Any, reason: str) -> None:
        """Leave out a topic that the file itself excludes, with the reason."""
        self.left_out += 1
        self.note(place, str(name), reason)

    def notes(self) -> list[Problem]:
        """Return one warning for each reason: what is not converted, at the place of the first."""
        notes = {reason: list(named) for reason, named in self._notes.items()}
        for account in self._accounts:
            for leftover in account.leftovers():
                notes.setdefault(NOT_READ, []).append(leftover)
        return [_note(reason, named) for reason, named in notes.items() if named]

    def topic(self, values: TopicValues, comments: Iterable[str] = ()) -> None:
        """Take a topic, or what is wrong with it. Kafka's own topics are named in a note."""
        kept = tuple(comments)
        name, place = values.name(self)
        if name in INTERNAL_TOPICS:
            self.note(place, str(name), "Kafka's own topics, so not imported")
            return
        before = len(self.problems)
        if name is not None and (problem := name_problem(name)):
            self.wrong(place, problem, "topic-name")
        partitions = self._count(values, "partitions")
        replicas = self._count(values, "replication factor")
        config = {key: self._setting(key, value, places) for key, (value, *places) in values.config.items()}
        if name is None or partitions is None or replicas is None or len(self.problems) > before:
            return
        settings_ = {key: value for key, value in config.items() if value is not None}
        topic = Topic(name, partitions, replicas, dict(sorted(settings_.items())), description=values.description)
        self.topics.append(ConvertedTopic(topic, place, kept))

    def _count(self, values: TopicValues, what: str) -> int | None:
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
        if name.endswith(_THROTTLE):
            self.note(places[0], name, "a throttle of a replica move, so not imported")
            return None
        if value is None:
            self.note(places[0], name, "has no value, so not imported")
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
class TopicValues:
    """What a foreign file says of one topic, each value with its place; of a setting also the place of its key."""

    named: tuple[Any, Location]
    counts: Mapping[str, tuple[Any, Location]]
    config: Mapping[str, tuple[Any, Location, Location]]
    description: str | None = None

    def name(self, reading: TopicReader) -> tuple[str | None, Location]:
        value, place = self.named
        if isinstance(value, str) and value.strip():
            return value.strip(), place
        reading.wrong(place, f"expected the topic's name, seen {seen(value)}", "missing")
        return None, place


def count(fields: UnreadFields, path: KeyPath, reading: TopicReader) -> tuple[Any, Location]:
    """Take the number at ``path``; report one that YAML 1.1 and YAML 1.2 read differently."""
    _octal(fields, path, reading)
    return fields.take(path)


def settings(fields: UnreadFields, path: KeyPath, reading: TopicReader) -> Settings:
    """Take the mapping of settings at ``path``; empty where there is none."""
    value, place = fields.take(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reading.wrong(place, f"{path[-1]}: expected a mapping of settings, seen {seen(value)}", "type")
        return {}
    below = [(name, held, (*path, name)) for name, held in value.items()]
    for _, _, where in below:
        _octal(fields, where, reading)
    at_key, at_value = fields.document.at_key, fields.document.at
    return {name: (held, at_key(where), at_value(where)) for name, held, where in below}


def unknown_keys(fields: UnreadFields, path: KeyPath, known: tuple[str, ...], reading: TopicReader) -> None:
    """Report keys at ``path`` that the format does not have: a misspelt key must not lose its value."""
    value, _ = fields.at(path)
    for name in value if isinstance(value, dict) else ():
        if name not in known:
            fields.take((*path, name))
            message = f"unknown key {quoted(name)}{guess(name, known) or '; expected one of ' + ', '.join(known)}"
            reading.wrong(fields.document.at_key((*path, name)), message, "unknown-key")


def _octal(fields: UnreadFields, path: KeyPath, reading: TopicReader) -> None:
    value, place = fields.at(path)
    written = fields.octal(path) if isinstance(value, str) else None
    if written:
        digits = written.replace("_", "")
        octal = int(digits, 8) if set(digits) <= set("-+01234567") else "text"
        message = f"expected no leading zero, seen {written}: YAML 1.1 reads {octal}, YAML 1.2 reads {int(digits)}"
        reading.wrong(place, f"{message}; write the number that is meant", "value")


def _note(reason: str, named: list[tuple[Location, str]]) -> Problem:
    times = Counter(what for _, what in named)
    lines = [what for what in times if _LINE.fullmatch(what)]
    for what in lines[_MOST_LINES:]:
        del times[what]
    listed = ", ".join(what if number == 1 else f"{what} ({number:,} times)" for what, number in times.items())
    if len(lines) > _MOST_LINES:
        listed += f", and {len(lines) - _MOST_LINES:,} more lines"
    return Problem(min(place for place, _ in named), f"{reason}: {listed}", "not-imported", Level.WARNING)


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
