"""The files of other tools to topics: what teams come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from topicwarden.problem import Location, Problem
from topicwarden.specs.foreign import create_topics, describe, jikkou, strimzi, terraform, topicctl
from topicwarden.specs.foreign.reading import Found, Reading
from topicwarden.specs.foreign.source import Source
from topicwarden.specs.names import metric_name

__all__ = ["FORMATS", "Format", "Found", "Imported", "Reading", "Source", "read_all"]

_HCL: Final = re.compile(r"^\s*(resource|data|module|variable|locals|provider|terraform)\b[^\n=:]*\{", re.MULTILINE)


class Format(Protocol):
    """A module that reads one tool's files."""

    def recognises(self, source: Source) -> bool: ...

    def read(self, reading: Reading) -> None: ...


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


@dataclass(frozen=True)
class Imported:
    """The topics of all files, in their order; what is wrong with them; and what is not converted, as warnings."""

    topics: tuple[Found, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def read_all(sources: Sequence[Source], form: str | None = None) -> Imported:
    """Return the topics of all files, the problems and the notes, sorted; ``form`` forces a format."""
    topics: list[Found] = []
    problems: list[Problem] = []
    notes: list[Problem] = []
    first: dict[str, Found] = {}
    for source in sources:
        reading = _read(source, form)
        problems += reading.problems
        notes += reading.notes()
        for found in reading.topics:
            other = first.setdefault(metric_name(found.topic.name), found)
            if other is found:
                topics.append(found)
            else:
                problems.append(_second(found, other))
    return Imported(tuple(topics), tuple(sorted(set(problems))), tuple(sorted(set(notes))))


def _read(source: Source, form: str | None) -> Reading:
    reader = FORMATS[form] if form else next((one for one in FORMATS.values() if one.recognises(source)), None)
    reading = Reading(source)
    if reader is None or (form and not reader.recognises(source)):
        _unknown(reading, form)
    else:
        reader.read(reading)
        if not reading.topics and not reading.problems and not reading.left_out:
            reading.wrong(
                Location(source.file), "this file declares no topic besides Kafka's own; leave it out", "empty"
            )
    return reading


def _unknown(reading: Reading, form: str | None) -> None:
    source = reading.source
    if source.file.endswith((".tf", ".tofu")) or _HCL.search(source.text):
        message = "this is Terraform's HCL; give the state: `terraform show -json`"
        reading.wrong(Location(source.file), message, "value")
    elif not form and source.problems:
        reading.problems += source.problems
    else:
        message = f"expected topics as {form or ', '.join(FORMATS)} has them, seen none; say which with --from-format"
        reading.wrong(Location(source.file), message, "value")


def _second(found: Found, other: Found) -> Problem:
    name, first = found.topic.name, other.topic.name
    if name == first:
        return Problem(found.place, f"{name} is here twice, first at {other.place}; keep one", "topic-twice")
    message = f"{name} and {first} ({other.place}) are one name in Kafka's metrics, so Kafka refuses it; rename one"
    return Problem(found.place, message, "topic-collision")
