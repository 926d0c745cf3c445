"""Format settings as readable YAML that the loader reads back as exactly Kafka's value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.config_values import Config
from topicwarden.model.units import unit_of
from topicwarden.specs.yaml_nodes import read_documents

_CONFIG: Final[TypeAdapter[dict[str, str | None]]] = TypeAdapter(Config)
_MAX_UNIT_NUMBER: Final = 10_000
"""Numbers with a unit are readable below this limit: 9999s, but not 604800001ms."""
_COMMENTS: Final = {
    ("cleanup.policy", ""): "nothing is ever deleted",
    ("retention.bytes", "-1"): "unlimited",
    ("retention.ms", "-1"): "forever",
}


@cache
def yaml_setting(name: str, value: str | None) -> str:
    """Return the YAML of the setting ``name`` for Kafka's ``value``, with a comment if the value needs one.

    ``7d`` for ``604800000``, ``[compact, delete]`` for ``compact,delete``, ``null`` for None. Raise ValueError, with a
    message for the user, if no YAML loads as this value: Kafka does not have the setting, or another tool has set
    a value that Kafka rejects today.
    """
    if value is None:
        return "null  # inherited from the brokers"
    problem = f"Kafka {configs.kafka_version()} has no topic configuration {name}"
    for text in _candidates(name, value):
        try:
            loaded = _CONFIG.validate_python({name: load_scalar(text)})[name]
        except ValidationError as error:
            problem = f"{name}: {error.errors(include_url=False)[0]['msg']}"
            continue
        if loaded == value:
            comment = _COMMENTS.get((name, value))
            return f"{text}  # {comment}" if comment else text
    raise ValueError(problem)


def yaml_scalar(text: str) -> str:
    """Return ``text`` as one line of YAML, in quotes if YAML would read it as another value."""
    plain = bool(text) and text.isprintable() and load_scalar(text) == text
    return text if plain else quoted_scalar(text)


def quoted_scalar(text: str) -> str:
    """Return ``text`` in double quotes, as one line of YAML that shows every character."""
    return "".join(map(_printable, json.dumps(text, ensure_ascii=False)))


def _printable(character: str) -> str:
    """Return a character of a text in double quotes, escaped as in YAML, which has no surrogates, unlike JSON."""
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def yaml_text(text: str) -> str:
    """Return ``text`` as the YAML of a top-level key, with its own lines if it has several."""
    block = "|-\n" + "\n".join(f"  {line}" if line else "" for line in text.split("\n"))
    return block if "\n" in text and load_scalar(block) == text else yaml_scalar(text)


def load_scalar(text: str) -> Any:
    """Return the value that the loader reads for ``text`` after a key; None also if this is not valid YAML."""
    documents, problems = read_documents(f"key: {text}\n".encode(), "")
    if problems or len(documents) != 1 or documents[0].problems:
        return None
    value = documents[0].value
    return value["key"] if isinstance(value, dict) and list(value) == ["key"] else None


def _candidates(name: str, value: str) -> Iterator[str]:
    definition, unit = configs.definition(name), unit_of(name)
    if definition is None:
        return
    if unit and value.removeprefix("-").isdigit():
        formatted = unit.format(int(value))
        if int("".join(filter(str.isdigit, formatted))) < _MAX_UNIT_NUMBER:
            yield formatted
    if definition.type == "list" and (not value or "," in value):
        yield f"[{', '.join(value.split(',')) if value else ''}]"
    if value and value.isprintable():
        yield value
    yield quoted_scalar(value)
