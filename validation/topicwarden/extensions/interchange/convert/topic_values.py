"""Takes the values of a topic from the fields of another tool's file, checks them, and builds the topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from topicwarden.extensions.interchange.convert.source_file import UnreadFields, is_word, shown_key, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import UNKNOWN, ConvertedTopic, TopicReader
from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.topic_names import name_problem
from topicwarden.model.contents import NO_CONTENTS, Contents
from topicwarden.model.message_text import (
    describe_value,
    did_you_mean,
    kind_of,
    quoted,
    whole_number,
    whole_number_hint,
    yaml_readings,
)
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import INTERNAL_TOPICS, Topic
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.yaml_nodes import KeyPath

SettingValues: TypeAlias = dict[str, tuple[Any, Location, Location]]
"""Settings by name: the value, the location of the key, and the location of the value."""

MAX_COUNTS: Final = {"partitions": 2**31 - 1, "replication factor": 2**15 - 1}
_SERVICE_SETTINGS: Final = re.compile(
    r"confluent\.|redpanda\.|warpstream\.|automq\.|inkless\.|(flush\.bytes|write\.caching|diskless\.enable|initial\.retention\.local\.target\.(bytes|ms))$"
)
"""Settings of services' own, which Apache Kafka does not have; see ``kafka_facts/services``."""
_NUMBER: Final = re.compile(r"([+-]?\.?\d.*)?")
_WORDS: Final = ("boolean", "list", "string")
"""The types of settings whose values are words."""
_THROTTLE: Final = ".replication.throttled.replicas"


@dataclass(frozen=True)
class TopicValues:
    """The values of one topic in another tool's file, each with its location; settings also with that of their key.

    ``default`` describes what applies to a number that is not set.
    """

    name_field: tuple[Any, Location]
    counts: Mapping[str, tuple[Any, Location]]
    config: Mapping[str, tuple[Any, Location, Location]]
    description: str | None = None
    default: str = "the brokers' default"
    owner: str | None = None
    contents: Contents = NO_CONTENTS
    schemas: tuple[SchemaText, ...] = ()

    def read_name(self, reader: TopicReader) -> tuple[str | None, Location]:
        """Return the topic's name and its location; report a missing name and return None."""
        value, location = self.name_field
        if isinstance(value, str) and value.strip():
            return value.strip(), location
        reader.add_problem(location, f"expected the topic's name, got {shown_value(value)}", "missing")
        return None, location

    def checked_count(self, reader: TopicReader, part: str, missing: dict[str, Problem]) -> int | None:
        """Return the count ``part``; report an invalid one and return None.

        Return ``UNKNOWN`` if the file does not have the count. ``missing`` then gets the problem.
        """
        value, location = self.counts[part]
        number = _integer(value)
        if number is not None and 1 <= number <= MAX_COUNTS[part]:
            return number
        if value is None or number == -1:
            got = "nothing" if value is None else "-1"
            name, _ = self.name_field
            message = f"expected the {part}, got {got}, so {self.default} applies; write the topic's actual number"
            message = f"{name}: {message}" if isinstance(name, str) else message
            message += " here, or in topics/_defaults.yaml"
            missing[part.replace(" ", "_")] = Problem(location, message, "missing")
            return UNKNOWN
        got = kind_of(value) if number is None else describe_value(number)
        message = f"expected the {part}, a whole number from 1 to {MAX_COUNTS[part]}, got {got}"
        reader.add_problem(location, message, "value")
        return None


def add_topic(reader: TopicReader, values: TopicValues, comments: Iterable[str] = ()) -> None:
    """Add the topic, or the problems of its values. Internal topics of Kafka are only noted."""
    comment_lines = tuple(comments)  # takes the fields of the comments, also of a topic that is not added
    name, location = values.read_name(reader)
    if name in INTERNAL_TOPICS:
        reader.note(location, str(name), "internal topics of Kafka, so not imported")
        return
    before = len(reader.problems)
    if name is not None and (problem := name_problem(name)):
        reader.add_problem(location, problem, "topic-name")
    missing: dict[str, Problem] = {}
    partitions = values.checked_count(reader, "partitions", missing)
    replicas = values.checked_count(reader, "replication factor", missing)
    config = {
        key: _checked_setting(reader, key, value, locations) for key, (value, *locations) in values.config.items()
    }
    if name is None or partitions is None or replicas is None or len(reader.problems) > before:
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
    reader.topics.append(ConvertedTopic(topic, location, comment_lines, values.schemas, missing))


def _checked_setting(reader: TopicReader, name: str, value: Any, locations: list[Location]) -> str | None:
    """Return a setting in Kafka's spelling; None if it is invalid or not set.

    ``locations`` are the locations of the key and of the value.
    """
    definition = configs.definition(name)
    if reason := _reason_to_skip(name, value):
        reader.left_out += reason == not_in_kafka()
        reader.note(locations[0], name, reason)
        return None
    if definition is None:
        suggestion = configs.nearest(name)
        message = f"Kafka {configs.kafka_version()} has no topic configuration {quoted(shown_key(name))}"
        message += f"; did you mean {suggestion}?" if suggestion else ""
        reader.add_problem(locations[0], message, "config-unknown")
        return None
    if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        reader.add_problem(
            locations[-1], f"{name}: expected {definition.expected}, got {shown_value(value)}", "config-value"
        )
        return None
    text = _text(value)
    problems = [variant.problem(text) for variant in configs.variants(name)]
    if None not in problems:
        hint = whole_number_hint(value) if isinstance(value, float) else ""
        quotable = is_word(text) and (definition.type in _WORDS or _NUMBER.fullmatch(text))
        problem = problems[0] if quotable else f"expected {definition.expected}, got {kind_of(value)}"
        reader.add_problem(locations[-1], f"{name}: {problem}{hint}", "config-value")
    # As DescribeConfigs returns it: without spaces, booleans in lower case.
    if definition.type == "list":
        return ",".join(item.strip() for item in text.split(","))
    return text.strip().lower() if definition.type == "boolean" else text.strip()


def not_in_kafka() -> str:
    """Return the reason why a setting of a service's own is not imported."""
    return f"Kafka {configs.kafka_version()} has no such topic configuration, so not imported"


def _reason_to_skip(name: str, value: Any) -> str | None:
    if configs.definition(name) is None:
        return not_in_kafka() if _SERVICE_SETTINGS.match(name) else None
    if name.endswith(_THROTTLE):
        return "a replication throttle, so not imported"
    return "has no value, so not imported" if value is None else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return whole_number(value.strip()) if isinstance(value, str) else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def one_line(text: Any) -> str | None:
    """Return ``text`` with single spaces instead of line breaks; None if it is empty or not text."""
    return " ".join(text.split()) or None if isinstance(text, str) else None


def paragraphs(text: Any) -> str | None:
    """Return ``text`` without white space around it; None if it is empty or not text."""
    return text.strip() or None if isinstance(text, str) else None


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
        for part, key in zip(MAX_COUNTS, (partitions, replicas), strict=True)
    }


def take_settings(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> SettingValues:
    """Take the mapping of settings at ``path``; return an empty mapping if there is none."""
    value, location = fields.take(path)
    if value is None:
        return {}
    if not isinstance(value, dict):
        reader.add_problem(location, f"{path[-1]}: expected a mapping of settings, got {kind_of(value)}", "type")
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
            hint = did_you_mean(name, known) or f"; expected one of {', '.join(known)}"
            message = f"unknown key {quoted(shown_key(name))}{hint}"
            reader.add_problem(fields.document.at_key((*path, name)), message, "unknown-key")


def _report_octal(fields: UnreadFields, path: KeyPath, reader: TopicReader) -> None:
    value, location = fields.peek(path)
    written = fields.octal_number(path) if isinstance(value, str) else None
    if written:
        readings = yaml_readings(written.replace("_", ""))
        message = f"expected no leading zero, got {written}: {readings}; write the intended number"
        reader.add_problem(location, message, "value")
