"""Kafka's own definitions of its configurations of topics and of groups, for each Kafka version in the catalogue.

The catalogue is generated from Kafka's jars (``tools/kafka_configs``), never typed by hand. A *line* is a minor version
of Kafka, such as ``4.1``; the catalogue has one release for each line. Functions called without a line return the
definition of ``DEFAULT_KAFKA``, or of the last line that has the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from topicwarden.kafka_facts.configs.definition import ConfigDefinition
from topicwarden.model import message_text

__all__ = [
    "DEFAULT_KAFKA",
    "ConfigDefinition",
    "definition",
    "definitions",
    "group_definitions",
    "group_variants",
    "kafka_lines",
    "kafka_version",
    "nearest",
    "variants",
]

DEFAULT_KAFKA: Final = "4.1"
"""The Kafka version of a stack whose settings do not name one (``topicwarden:kafkaVersion``)."""


@cache
def definitions(kafka: str | None = None) -> Mapping[str, ConfigDefinition]:
    """Return the topic configurations of one line of Kafka (``4.1``), or of all lines, by name and sorted."""
    return _definitions("configs", kafka)


@cache
def group_definitions(kafka: str | None = None) -> Mapping[str, ConfigDefinition]:
    """Return the configurations of groups (``GroupConfig``) of one line of Kafka, or of all lines, by name."""
    return _definitions("group_configs", kafka)


def definition(name: str, kafka: str | None = None) -> ConfigDefinition | None:
    """Return the definition of a topic configuration; None if that line of Kafka (without one: no line) has it."""
    return definitions(kafka).get(name)


@cache
def variants(name: str) -> tuple[ConfigDefinition, ...]:
    """Return the different definitions of a configuration in all lines of Kafka, that of ``definition`` first."""
    return _variants(definitions, name)


@cache
def group_variants(name: str) -> tuple[ConfigDefinition, ...]:
    """Return the different definitions of a configuration of groups, as ``variants`` does for topics."""
    return _variants(group_definitions, name)


@cache
def kafka_lines() -> tuple[str, ...]:
    """Return the lines of Kafka in the catalogue, oldest first: ``3.9``, …"""
    return tuple(_catalogue()["kafka"])


def kafka_version(kafka: str = DEFAULT_KAFKA) -> str:
    """Return the release whose definitions the catalogue has for a line: ``4.1.1`` for ``4.1``."""
    return str(_catalogue()["kafka"][kafka])


def nearest(name: str) -> str | None:
    """Return the topic configuration most similar to ``name``; None if none is similar.

    A broker property also matches: ``log.retention.ms`` gives ``retention.ms``.
    """
    names = {name: name for name in definitions()}
    names |= {config.server_default: config.name for config in definitions().values() if config.server_default}
    found = message_text.nearest(name, names)
    return names[found] if found else None


def _definitions(kind: str, kafka: str | None) -> Mapping[str, ConfigDefinition]:
    found = {name: _definition(name, entry, kafka) for name, entry in _catalogue()[kind].items()}
    return MappingProxyType({name: config for name, config in found.items() if config is not None})


def _variants(known: Callable[[str | None], Mapping[str, ConfigDefinition]], name: str) -> tuple[ConfigDefinition, ...]:
    by_line = (known(line).get(name) for line in (None, *reversed(kafka_lines())))
    return tuple(dict.fromkeys(config for config in by_line if config is not None))


def _definition(name: str, entry: Mapping[str, Any], kafka: str | None) -> ConfigDefinition | None:
    lines = kafka_lines()
    since, until = entry.get("since", lines[0]), entry.get("until", lines[-1])
    available = lines[lines.index(since) : lines.index(until) + 1]
    line = kafka or (DEFAULT_KAFKA if DEFAULT_KAFKA in available else until)
    if line not in available:
        return None
    fields = entry["definition"] | entry.get("differs", {}).get(line, {})
    return ConfigDefinition(name, since=since, until=until, **fields)


@cache
def _catalogue() -> dict[str, Any]:
    text = files("topicwarden.kafka_facts.configs").joinpath("catalogue.json").read_text(encoding="utf-8")
    catalogue: dict[str, Any] = json.loads(text)
    return catalogue
