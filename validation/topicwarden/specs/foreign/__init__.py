"""The files of other tools to topics: what teams come from."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, Protocol

from topicwarden.problem import Location, Problem
from topicwarden.specs.foreign import create_topics, describe, jikkou, strimzi, terraform, topicctl
from topicwarden.specs.foreign.reading import Found, Reading
from topicwarden.specs.foreign.source import Source
from topicwarden.specs.names import metric_name

__all__ = ["FORMATS", "Format", "Found", "Reading", "Source", "read_all"]


class Format(Protocol):
    """A module that reads one tool's files."""

    def recognises(self, source: Source) -> bool: ...

    def read(self, source: Source) -> Reading: ...


FORMATS: Final = MappingProxyType[str, Format](
    {
        "strimzi": strimzi,
        "jikkou": jikkou,
        "topicctl": topicctl,
        "terraform": terraform,
        "describe": describe,
        "create-topics": create_topics,
    }
)
"""By the name that ``--from-format`` takes; the first that recognises a file reads it."""


def read_all(sources: Sequence[Source], form: str | None = None) -> tuple[list[Found], list[Problem]]:
    """The topics of all files, in their order, and all that is wrong with them, sorted; ``form`` forces a format."""
    topics: list[Found] = []
    problems: list[Problem] = []
    first: dict[str, Found] = {}
    for source in sources:
        reading = _read(source, form)
        problems += reading.problems
        for found in reading.topics:
            other = first.setdefault(metric_name(found.topic.name), found)
            if other is found:
                topics.append(found)
            else:
                problems.append(_second(found, other))
    return topics, sorted(set(problems))


def _read(source: Source, form: str | None) -> Reading:
    reader = FORMATS[form] if form else next((one for one in FORMATS.values() if one.recognises(source)), None)
    reading = Reading()
    if reader is None and source.problems:
        reading.problems += source.problems
    elif reader is None or (form and not reader.recognises(source)):
        message = f"expected topics as {form or ', '.join(FORMATS)} has them, seen none; say which with --from-format"
        reading.wrong(Location(source.file), message, "value")
    else:
        reading = reader.read(source)
        if not reading.topics and not reading.problems:
            reading.wrong(Location(source.file), "this file has no topic but Kafka's own; leave it out", "empty")
    return reading


def _second(found: Found, other: Found) -> Problem:
    name, first = found.topic.name, other.topic.name
    if name == first:
        return Problem(found.place, f"{name} is here twice, first at {other.place}; keep one", "topic-twice")
    message = f"{name} and {first} ({other.place}) are one name in Kafka's metrics, so Kafka refuses it; rename one"
    return Problem(found.place, message, "topic-collision")
