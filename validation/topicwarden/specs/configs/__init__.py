"""Kafka's own definitions of its topic configurations, of every line of Kafka in the catalogue.

They are generated from Kafka's jars, never typed (``generate.py``). A definition without a line of Kafka is that of
``DEFAULT_KAFKA``, or of the last line that has the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from topicwarden.specs import message_text
from topicwarden.specs.configs.definition import ConfigDefinition

__all__ = [
    "DEFAULT_KAFKA",
    "ConfigDefinition",
    "definition",
    "definitions",
    "kafka_lines",
    "kafka_version",
    "nearest",
    "variants",
]

DEFAULT_KAFKA: Final = "4.1"
"""The line of Kafka that a stack runs where it does not say."""


@cache
def definitions(kafka: str | None = None) -> Mapping[str, ConfigDefinition]:
    """Every topic configuration by its name, sorted: those of one line of Kafka (``4.1``), or of all."""
    configs = _catalogue()["configs"]
    found = {name: _definition(name, entry, kafka) for name, entry in configs.items()}
    return MappingProxyType({name: each for name, each in found.items() if each is not None})


def definition(name: str, kafka: str | None = None) -> ConfigDefinition | None:
    """The definition of a topic configuration; None where that line of Kafka, or no line, has one of that name."""
    return definitions(kafka).get(name)


@cache
def variants(name: str) -> tuple[ConfigDefinition, ...]:
    """The definitions of a configuration that differ between lines of Kafka, the one of ``definition`` first."""
    every = (definition(name), *(definition(name, line) for line in reversed(kafka_lines())))
    return tuple(dict.fromkeys(each for each in every if each is not None))


@cache
def kafka_lines() -> tuple[str, ...]:
    """The lines of Kafka in the catalogue, from the oldest: ``3.9``, …"""
    return tuple(_catalogue()["kafka"])


def kafka_version(kafka: str = DEFAULT_KAFKA) -> str:
    """The release that a line's definitions are from."""
    return str(_catalogue()["kafka"][kafka])


def nearest(name: str) -> str | None:
    """The topic configuration that a misspelt ``name``, or a broker's name for it, is most like; None without one."""
    names = {name: name for name in definitions()}
    names |= {each.server_default: each.name for each in definitions().values() if each.server_default}
    found = message_text.nearest(name, names)
    return names[found] if found else None


def _definition(name: str, entry: Mapping[str, Any], kafka: str | None) -> ConfigDefinition | None:
    lines = kafka_lines()
    since, until = entry.get("since", lines[0]), entry.get("until", lines[-1])
    held = lines[lines.index(since) : lines.index(until) + 1]
    line = kafka or (DEFAULT_KAFKA if DEFAULT_KAFKA in held else until)
    if line not in held:
        return None
    fields = entry["definition"] | entry.get("differs", {}).get(line, {})
    return ConfigDefinition(name, since=since, until=until, **fields)


@cache
def _catalogue() -> dict[str, Any]:
    text = files("topicwarden.specs.configs").joinpath("catalogue.json").read_text(encoding="utf-8")
    catalogue: dict[str, Any] = json.loads(text)
    return catalogue
