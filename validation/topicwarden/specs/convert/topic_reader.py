"""Build topics from the values of another tool's file, and check each value against Kafka's definitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from topicwarden.model.contents import NO_CONTENTS, Contents
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import INTERNAL_TOPICS, Topic
from topicwarden.specs import configs
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.unread_fields import UnreadFields, UnreadText
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.topic_names import name_problem
from topicwarden.specs.yaml_nodes import KeyPath

SettingValues: TypeAlias = dict[str, tuple[Any, Location, Location]]
"""Settings by name: the value, the location of the key, and the location of the value."""

NOT_READ: Final = "not imported, because a topic's YAML has no key for it"
ACCESS: Final = "access rules, so not imported"
COMMENTED_OUT: Final = "commented out, so not imported"
UNKNOWN: Final = 0
_MAX_COUNTS: Final = {"partitions": 2**31 - 1, "replication factor": 2**15 - 1}
_LINE_NAME: Final = re.compile(r"line [0-9]+")
_MAX_LINES: Final = 20
"""The maximum number of unnamed lines, such as comments, that a note lists; it counts the rest."""
_SERVICE_SETTINGS: Final = re.compile(
    r"confluent\.|redpanda\.|warpstream\.|(write\.caching|diskless\.enable|initial\.retention\.local\.target\.(bytes|ms))$"
)
"""Settings of services' own, which Apache Kafka does not have; see ``specs/services``."""
_THROTTLE: Final = ".replication.throttled.replicas"


@dataclass(frozen=True)
class ConvertedTopic:
    """A topic of another tool's file, its location, lines to keep as comments, and its schemas.

    ``missing`` has the problem of each count that the file does not have: ``partitions``, ``replication_factor``. The
    topic has ``UNKNOWN`` instead, and needs a number from elsewhere.
    """

    topic: Topic
    place: Location
    comments: tuple[str, ...] = ()
    schemas: tuple[SchemaText, ...] = ()
    missing: Mapping[str, Problem] = field(default_factory=dict)


@dataclass
class TopicReader:
    """Collects the topics, problems and notes of one file, and tracks which parts of the file were read.

    ``others`` are the other files of the same import. ``excluded`` counts the topics that the file itself excludes,
    such as topics marked for deletion. ``auxiliary`` is set if the file only completes other files.
    """

    source: SourceFile
    others: tuple[SourceFile, ...] = ()
    topics: list[ConvertedTopic] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    excluded: int = 0
    auxiliary: bool = False
    _unread: list[UnreadFields | UnreadText] = field(default_factory=list)
    _notes: dict[str, list[tuple[Location, str]]] = field(default_factory=dict)

    def documents(self) -> list[UnreadFields]:
        """Return the documents of the file. A note will name each field that remains unread."""
        fields = [UnreadFields(self.source, document) for document in self.source.documents]
        self._unread += fields
        self.problems += self.source.problems
        self._note_comments(self.source)
        return fields

    def document_beside(self, source: SourceFile) -> UnreadFields | None:
        """Return the document of another file that this file refers to; None if the file is not one YAML document."""
        self.problems += source.problems
        self._note_comments(source)
        if len(source.documents) != 1:
            return None
        fields = UnreadFields(source, source.documents[0])
        self._unread.append(fields)
        return fields

    def _note_comments(self, source: SourceFile) -> None:
        for offset, comment in source.comments:
            line = comment.partition("KAFKA_CREATE_TOPICS")
            reason = COMMENTED_OUT if line[1] else "comments are not imported"
            place = source.location(offset)
            self.note(place, line[1] or f"line {place.line}", reason)

    def text(self, *, shown: bool) -> UnreadText:
        """Return the text of the file. A note will name each part that remains unread.

        ``shown`` quotes these parts: set it only if the file cannot contain secrets.
        """
        text = UnreadText(self.source, shown=shown)
        self._unread.append(text)
        return text

    def add_problem(self, place: Location, message: str, rule: str) -> None:
        self.problems.append(Problem(place, message, rule))

    def note(self, place: Location, part: str, reason: str) -> None:
        """Note that ``part`` is not converted. Parts with the same reason share one note."""
        self._notes.setdefault(reason, []).append((place, part))

    def exclude(self, place: Location, name: Any, reason: str) -> None:
        """Note that a topic is not converted because the file itself excludes it."""
        self.excluded += 1
        self.note(place, str(name), reason)

    def notes(self) -> list[Problem]:
        """Return one warning for each reason, with all parts that were not converted, at the location of the first."""
        notes = {reason: list(parts) for reason, parts in self._notes.items()}
        for unread in self._unread:
            for unread_part in unread.unread_parts():
                notes.setdefault(NOT_READ, []).append(unread_part)
        return [_note(reason, parts) for reason, parts in notes.items() if parts]

    def add_topic(self, values: TopicValues, comments: Iterable[str] = ()) -> None:
        """Add the topic, or the problems of its values. Internal topics of Kafka are only noted."""
        comment_lines = tuple(comments)
        name, place = values.read_name(self)
        if name in INTERNAL_TOPICS:
            self.note(place, str(name), "internal topics of Kafka, so not imported")
            return
        before = len(self.problems)
        if name is not None and (problem := name_problem(name)):
            self.add_problem(place, problem, "topic-name")
        missing: dict[str, Problem] = {}
        partitions = self._checked_count(values, "partitions", missing)
        replicas = self._checked_count(values, "replication factor", missing)
        config = {key: self._checked_setting(key, value, places) for key, (value, *places) in values.config.items()}
        if name is None or partitions is None or replicas is None or len(self.problems) > before:
            return
        set_values = {key: value for key, value in config.items() if value is not None}
        topic = Topic(
            name,
            partitions,
            replicas,
            dict(sorted(set_values.items())),
            owner=values.owner,
            description=values.description,
            contents=values.contents,
        )
        self.topics.append(ConvertedTopic(topic, place, comment_lines, values.schemas, missing))

    def _checked_count(self, values: TopicValues, part: str, missing: dict[str, Problem]) -> int | None:
        value, place = values.counts[part]
        number = _integer(value)
        if value is None and values.inherits:
            message = f"expected the {part}, seen nothing; write the number here, or in topics/_defaults.yaml"
            missing[part.replace(" ", "_")] = Problem(place, message, "missing")
            return UNKNOWN
        if number is not None and 1 <= number <= _MAX_COUNTS[part]:
            return number
        if value is None or number == -1:
            seen = "nothing" if value is None else "-1"
            name, _ = values.name_field
            message = f"expected the {part}, seen {seen}, so {values.default} applies; write the topic's actual number"
            message = f"{name}: {message}" if isinstance(name, str) else message
            self.add_problem(place, message, "missing")
        else:
            self.add_problem(
                place,
                f"expected the {part}, a whole number from 1 to {_MAX_COUNTS[part]}, seen {describe_value(value)}",
                "value",
            )
        return None

    def _checked_setting(self, name: str, value: Any, places: list[Location]) -> str | None:
        """Return a setting in Kafka's spelling; None if it is invalid or not set.

        ``places`` are the locations of the key and of the value.
        """
        definition = configs.definition(name)
        if reason := _reason_to_skip(name, value):
            self.note(places[0], name, reason)
            return None
        if definition is None:
            suggestion = configs.nearest(name)
            message = f"Kafka {configs.kafka_version()} has no topic configuration {quoted(name)}"
            message += f"; did you mean {suggestion}?" if suggestion else ""
            self.add_problem(places[0], message, "config-unknown")
            return None
        if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
            self.add_problem(
                places[-1], f"{name}: expected {definition.expected}, seen {describe_value(value)}", "config-value"
            )
            return None
        text = _text(value)
        problems = [variant.problem(text) for variant in configs.variants(name)]
        if None not in problems:
            self.add_problem(places[-1], f"{name}: {problems[0]}", "config-value")
        # As DescribeConfigs returns it: without spaces, booleans in lower case.
        if definition.type == "list":
            return ",".join(item.strip() for item in text.split(","))
        return text.strip().lower() if definition.type == "boolean" else text.strip()


@dataclass(frozen=True)
class TopicValues:
    """The values of one topic in another tool's file, each with its location; settings also with that of their key.

    ``default`` describes what applies to a number that is not set.
    ``inherits`` says that the file need not have the counts: they can come from ``_defaults.yaml``.
    """

    name_field: tuple[Any, Location]
    counts: Mapping[str, tuple[Any, Location]]
    config: Mapping[str, tuple[Any, Location, Location]]
    description: str | None = None
    default: str = "the brokers' default"
    owner: str | None = None
    contents: Contents = NO_CONTENTS
    schemas: tuple[SchemaText, ...] = ()
    inherits: bool = False

    def read_name(self, reader: TopicReader) -> tuple[str | None, Location]:
        """Return the topic's name and its location; report a missing name and return None."""
        value, place = self.name_field
        if isinstance(value, str) and value.strip():
            return value.strip(), place
        reader.add_problem(place, f"expected the topic's name, seen {describe_value(value)}", "missing")
        return None, place


def not_in_kafka() -> str:
    """Return the reason why a setting of a service's own is not imported."""
    return f"Kafka {configs.kafka_version()} has no such topic configuration, so not imported"


def one_line(text: Any) -> str | None:
    """Return ``text`` with single spaces instead of line breaks; None if it is empty or not text."""
    return " ".join(text.split()) or None if isinstance(text, str) else None


def take_number(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> tuple[Any, Location]:
    """Take the number at ``path``; report a number that YAML 1.1 and YAML 1.2 read differently."""
    _report_octal(fields, path, reader)
    return fields.take(path)


def take_counts(
    fields: UnreadFields, path: KeyPath, partitions: str, replicas: str, reader: TopicReader
) -> dict[str, tuple[Any, Location]]:
    """Take the two counts of a topic, which have these keys in the mapping at ``path``; see ``take_number``."""
    return {
        part: take_number(fields, (*path, key), reader)
        for part, key in zip(_MAX_COUNTS, (partitions, replicas), strict=True)
    }


def take_settings(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> SettingValues:
    """Take the mapping of settings at ``path``; return an empty mapping if there is none."""
    value, place = fields.take(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reader.add_problem(place, f"{path[-1]}: expected a mapping of settings, seen {describe_value(value)}", "type")
        return {}
    settings: SettingValues = {}
    for name, setting in value.items():
        setting_path = (*path, name)
        _report_octal(fields, setting_path, reader)
        settings[name] = (setting, fields.document.at_key(setting_path), fields.document.at(setting_path))
    return settings


def report_unknown_keys(fields: UnreadFields, path: KeyPath, known: tuple[str, ...], reader: TopicReader) -> None:
    """Report unknown keys of the mapping at ``path``, so that the value of a misspelled key is not lost."""
    value, _ = fields.peek(path)
    for name in value if isinstance(value, dict) else ():
        if name not in known:
            fields.take((*path, name))
            message = (
                f"unknown key {quoted(name)}{did_you_mean(name, known) or '; expected one of ' + ', '.join(known)}"
            )
            reader.add_problem(fields.document.at_key((*path, name)), message, "unknown-key")


def _reason_to_skip(name: str, value: Any) -> str | None:
    if configs.definition(name) is None:
        return not_in_kafka() if _SERVICE_SETTINGS.match(name) else None
    if name.endswith(_THROTTLE):
        return "a replication throttle, so not imported"
    return "has no value, so not imported" if value is None else None


def _report_octal(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> None:
    value, place = fields.peek(path)
    written = fields.octal_number(path) if isinstance(value, str) else None
    if written:
        digits = written.replace("_", "")
        octal_number = int(digits, 8) if set(digits) <= set("-+01234567") else "text"
        readings = f"YAML 1.1 reads {octal_number}, YAML 1.2 reads {int(digits)}"
        message = f"expected no leading zero, seen {written}: {readings}; write the intended number"
        reader.add_problem(place, message, "value")


def _note(reason: str, parts: list[tuple[Location, str]]) -> Problem:
    occurrences = Counter(part for _, part in parts)
    lines = [part for part in occurrences if _LINE_NAME.fullmatch(part)]
    for part in lines[_MAX_LINES:]:
        del occurrences[part]
    part_names = ", ".join(
        part if number == 1 else f"{part} ({number:,} times)" for part, number in occurrences.items()
    )
    if len(lines) > _MAX_LINES:
        part_names += f", and {len(lines) - _MAX_LINES:,} more lines"
    return Problem(min(place for place, _ in parts), f"{reason}: {part_names}", "not-imported", Level.WARNING)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    digits = isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and value.isascii()
    return int(value) if digits else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)
