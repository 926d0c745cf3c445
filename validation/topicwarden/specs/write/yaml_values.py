"""One setting as people write it in YAML, where the loader gives exactly Kafka's value back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from topicwarden.specs import configs
from topicwarden.specs.config_values import Config
from topicwarden.specs.units import unit_of
from topicwarden.specs.yaml_nodes import read_documents

_CONFIG: Final[TypeAdapter[dict[str, str | None]]] = TypeAdapter(Config)
_READABLE: Final = 10_000
"""Of a unit, the number that people still read at a glance: 9999s, but not 604800001ms."""
_MEANT: Final = {
    ("cleanup.policy", ""): "nothing is ever deleted",
    ("retention.bytes", "-1"): "unlimited",
    ("retention.ms", "-1"): "for ever",
}


@cache
def setting(name: str, value: str | None) -> str:
    """The YAML of the setting ``name`` whose value Kafka spells ``value``, with a comment where it needs one.

    ``7d`` for ``604800000``, ``[compact, delete]`` for ``compact,delete``, ``null`` for None. ValueError with a
    message where no YAML says this value: Kafka has no such setting, or another tool made what Kafka refuses today.
    """
    if value is None:
        return "null  # as the brokers have it"
    problem = f"Kafka {configs.kafka_version()} has no topic configuration {name}"
    for text in _candidates(name, value):
        try:
            said = _CONFIG.validate_python({name: scalar_value(text)})[name]
        except ValidationError as error:
            problem = f"{name}: {error.errors(include_url=False)[0]['msg']}"
            continue
        if said == value:
            meant = _MEANT.get((name, value))
            return f"{text}  # {meant}" if meant else text
    raise ValueError(problem)


def scalar(text: str) -> str:
    """``text`` as one line of YAML, in quotes where it would be read as something else."""
    plain = bool(text) and text.isprintable() and scalar_value(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())


def scalar_value(written: str) -> Any:
    """What the loader reads where ``written`` stands as a key's value; None also where that is no YAML."""
    documents, problems = read_documents(f"key: {written}\n".encode(), "")
    if problems or len(documents) != 1 or documents[0].problems:
        return None
    value = documents[0].value
    return value["key"] if isinstance(value, dict) and list(value) == ["key"] else None


def _candidates(name: str, value: str) -> Iterator[str]:
    definition, unit = configs.definition(name), unit_of(name)
    if definition is None:
        return
    if unit and value.removeprefix("-").isdigit():
        spelled = unit.spelled(int(value))
        if int("".join(filter(str.isdigit, spelled))) < _READABLE:
            yield spelled
    if definition.type == "list" and (not value or "," in value):
        yield f"[{', '.join(value.split(',')) if value else ''}]"
    if value and value.isprintable():
        yield value
    yield json.dumps(value)
