"""The files of other tools to topics: what teams come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from topicwarden.model.problem import Location, Problem
from topicwarden.specs.convert import create_topics, describe, jikkou, strimzi, terraform, topicctl
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import ConvertedTopic, TopicReader
from topicwarden.specs.topic_names import metric_name

__all__ = ["FORMATS", "ConversionResult", "ConvertedTopic", "SourceFile", "SourceFormat", "TopicReader", "read_all"]

_HCL: Final = re.compile(r"^\s*(resource|data|module|variable|locals|provider|terraform)\b[^\n=:]*\{", re.MULTILINE)


class SourceFormat(Protocol):
    """A module that reads one tool's files."""

    def recognises(self, source: SourceFile) -> bool: ...

    def read(self, reading: TopicReader) -> None: ...


FORMATS: Final = MappingProxyType[str, SourceFormat](
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
class ConversionResult:
    """The topics of all files, in their order; what is wrong with them; and what is not converted, as warnings."""

    topics: tuple[ConvertedTopic, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def read_all(sources: Sequence[SourceFile], form: str | None = None) -> ConversionResult:
    """Return the topics of all files, the problems and the notes, sorted; ``form`` forces a format."""
    topics: list[ConvertedTopic] = []
    problems: list[Problem] = []
    notes: list[Problem] = []
    first: dict[str, ConvertedTopic] = {}
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
    return ConversionResult(tuple(topics), tuple(sorted(set(problems))), tuple(sorted(set(notes))))


def _read(source: SourceFile, form: str | None) -> TopicReader:
    reader = FORMATS[form] if form else next((one for one in FORMATS.values() if one.recognises(source)), None)
    reading = TopicReader(source)
    if reader is None or (form and not reader.recognises(source)):
        _unknown(reading, form)
    else:
        reader.read(reading)
        if not reading.topics and not reading.problems and not reading.left_out:
            reading.wrong(
                Location(source.file), "this file declares no topic besides Kafka's own; leave it out", "empty"
            )
    return reading


def _unknown(reading: TopicReader, form: str | None) -> None:
    source = reading.source
    if source.file.endswith((".tf", ".tofu")) or _HCL.search(source.text):
        message = "this is Terraform's HCL; give the state: `terraform show -json`"
        reading.wrong(Location(source.file), message, "value")
    elif not form and source.problems:
        reading.problems += source.problems
    else:
        message = f"expected topics as {form or ', '.join(FORMATS)} has them, seen none; say which with --from-format"
        reading.wrong(Location(source.file), message, "value")


def _second(found: ConvertedTopic, other: ConvertedTopic) -> Problem:
    name, first = found.topic.name, other.topic.name
    if name == first:
        return Problem(found.place, f"{name} is here twice, first at {other.place}; keep one", "topic-twice")
    message = f"{name} and {first} ({other.place}) are one name in Kafka's metrics, so Kafka refuses it; rename one"
    return Problem(found.place, message, "topic-collision")
