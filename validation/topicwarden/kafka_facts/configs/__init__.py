"""Kafka's own definitions of its configurations of topics and of groups, for each Kafka version in the catalogue.

The catalogue is generated from Kafka's jars (``tools/kafka_configs``), never typed by hand. A *line* is a minor version
of Kafka, such as ``4.1``; the catalogue has one release for each line. Functions called without a line return the
definition of ``DEFAULT_KAFKA``, or of the last line that has the configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

from topicwarden.model import message_text

_INTEGER_LIMITS: Final = {"short": 1 << 15, "int": 1 << 31, "long": 1 << 63}
_MAX_DIGITS: Final = 30
_RANGE: Final = re.compile(r"\[(-?[0-9.]+),\.\.\.,?(-?[0-9.]+)?\](?: or (-?[0-9]+))?")
_CHOICES: Final = re.compile(r"\[([\w.-]+(?:, [\w.-]+)*)\]")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MAX_LISTED_CHOICES: Final = 20
_OR_DURATION: Final = ", by_duration:PnDTnHnMn.nS"
"""The end of the validator of ``share.auto.offset.reset``: a duration as ``java.time.Duration`` reads it."""
_DURATION: Final = re.compile(r"by_duration:\+?P(?=.)([0-9]+D)?(T(?=.)([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,9})?S)?)?")
_REPLICA_LIST: Final = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


@dataclass(frozen=True)
class ConfigDefinition:
    """One topic configuration, as ``org.apache.kafka.common.config.ConfigDef.ConfigKey`` defines it.

    ``type`` is boolean, string, int, long, double or list. ``default`` is Kafka's default in Kafka's spelling.
    ``validator`` is the text of Kafka's validator, such as ``[1,...,9] or -1``. ``server_default`` is the broker
    property that applies if the topic does not set the configuration. ``since`` and ``until`` are the first and the
    last Kafka version in the catalogue (such as ``4.1``) that has the configuration.
    """

    name: str
    type: str
    default: str | None
    validator: str | None
    server_default: str | None
    documentation: str
    since: str
    until: str

    @property
    def deprecated(self) -> bool:
        """True if Kafka's documentation marks the configuration as deprecated."""
        return self.documentation.startswith("[DEPRECATED]")

    @cached_property
    def bounds(self) -> tuple[float | None, float | None]:
        """The minimum and the maximum that Kafka's validator allows; None for a missing bound."""
        match = _RANGE.fullmatch(self.validator or "")
        minimum, maximum = match.group(1, 2) if match else (None, None)
        integral = self.type in _INTEGER_LIMITS

        def number(text: str | None) -> float | None:
            return None if text is None else int(text) if integral else float(text)

        return number(minimum), number(maximum)

    @cached_property
    def extra_value(self) -> int | None:
        """The one number outside ``bounds`` that is also allowed, such as -1; None if there is none."""
        match = _RANGE.fullmatch(self.validator or "")
        return int(match[3]) if match and match[3] else None

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, or the allowed items of a list; empty if every value is allowed."""
        match = _CHOICES.fullmatch((self.validator or "").replace(_OR_DURATION, ""))
        return tuple(match[1].split(", ")) if match else ()

    @cached_property
    def expected(self) -> str:
        """The valid values in a few words, for messages: ``a whole number (int) from 1 to 9, or -1``."""
        if self.type == "boolean":
            return "true or false"
        if self.type == "list":
            other = "* or a list of partition:broker pairs" if self.validator == _REPLICA_LIST else "a list of texts"
            return f"a list of {', '.join(self.choices)}" if self.choices else other
        if len(self.choices) > _MAX_LISTED_CHOICES:
            return f"one of {self.choices[0]}, …, {self.choices[-1]}"
        if self.choices:
            duration = ", or by_duration:PT1H" if self.accepts_duration else ""
            return f"one of {', '.join(self.choices)}{duration}"
        if self.type == "string":
            return "text"
        match = _RANGE.fullmatch(self.validator or "")
        minimum, maximum, extra_value = match.groups() if match else (None, None, None)
        kind = "a number" if self.type == "double" else f"a whole number ({self.type})"
        bounds = "" if minimum is None else f" from {minimum} to {maximum}" if maximum else f" of at least {minimum}"
        return kind + bounds + (f", or {extra_value}" if extra_value else "")

    def problem(self, value: str, written: str | None = None) -> str | None:
        """Return the message why Kafka would reject ``value``; None if Kafka accepts it.

        ``value`` is in Kafka's spelling (milliseconds, bytes); ``written`` is the user's spelling, for the message.
        The rules are those of ``ConfigDef.parseType`` and of the configuration's validator.
        """
        value = value.strip()
        if self._accepts(value):
            return None
        got = message_text.quoted(value)
        if len(value) <= 60 and _NUMBER.fullmatch(value):
            got = value if written in (None, value) else f"{written} ({value})"
        return f"expected {self.expected}, got {got}{self._hint(value)}"

    def equivalent(self, first: str, second: str) -> bool:
        """Return whether Kafka treats two values as equal: lists in any order, numbers and booleans in any spelling."""
        if self.type == "list":
            return _items(first) == _items(second)
        if self.type == "double":
            return float(first) == float(second)
        return first.strip().lower() == second.strip().lower() if self.type == "boolean" else first == second

    @property
    def accepts_duration(self) -> bool:
        """True if ``by_duration:`` and a duration of ISO 8601 are valid beside ``choices`` (KIP-1106)."""
        return _OR_DURATION in (self.validator or "")

    def _accepts(self, value: str) -> bool:
        if self.type == "boolean":
            return value.lower() in ("true", "false")
        if self.type == "list":
            return self._accepts_list(value)
        if self.type in _INTEGER_LIMITS:
            number = int(value) if re.fullmatch(rf"[+-]?[0-9]{{1,{_MAX_DIGITS}}}", value) else None
            limit = _INTEGER_LIMITS[self.type]
            return number is not None and -limit <= number < limit and self._in_bounds(number)
        if self.type == "double":
            return bool(_NUMBER.fullmatch(value)) and self._in_bounds(float(value))
        if self.accepts_duration and _DURATION.fullmatch(value):
            return True
        # MetadataVersionValidator also accepts a release without its last part: 2.8 for 2.8-IV1.
        return not self.choices or any(value == each or each.startswith(f"{value}-IV") for each in self.choices)

    def _accepts_list(self, value: str) -> bool:
        items = [item.strip() for item in value.split(",")] if value else []
        if self.validator == _REPLICA_LIST:
            return value == "*" or all(re.fullmatch(r"([0-9]+:[0-9]+)?", item) for item in items)
        # Kafka 4.1 accepts duplicates, later versions reject them (KIP-1161). A duplicate is always a mistake.
        return len(set(items)) == len(items) and (not self.choices or set(items) <= set(self.choices))

    def _in_bounds(self, number: float) -> bool:
        minimum, maximum = self.bounds
        inside = (minimum is None or number >= minimum) and (maximum is None or number <= maximum)
        return inside or number == self.extra_value

    def _hint(self, value: str) -> str:
        if self.type == "boolean":
            return message_text.boolean_hint(value)
        if self.type in _INTEGER_LIMITS and re.fullmatch(r"[+-]?[0-9]+", value):
            limit = _INTEGER_LIMITS[self.type]
            fits = len(value) <= _MAX_DIGITS and -limit <= int(value) < limit
            return "" if fits else f"; the maximum {self.type} is {limit - 1}"
        if self.type in _INTEGER_LIMITS and (plain := message_text.plain_number_hint(value)):
            return plain
        items = [item.strip() for item in value.split(",")]
        if self.type == "list" and len(set(items)) < len(items):
            return "; the list has a value twice"
        unknown = next((item for item in items if item not in self.choices), "")
        return message_text.did_you_mean(unknown, self.choices)


def _items(value: str) -> set[str]:
    return {item.strip() for item in value.split(",") if item.strip()}


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
