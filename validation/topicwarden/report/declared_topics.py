"""The declared topics of a stack with their access, as text and JSON: one topic with the origin of values, or all."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from enum import Enum
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Final

from topicwarden.kafka_facts.access.implied import implied_operations
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import definitions, kafka_version
from topicwarden.model.access import (
    AccessSource,
    Acl,
    DeclaredAccess,
    Operation,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.report.display import NOTHING, duration, one_line, shrunk, size
from topicwarden.specs.resolve import Declaration

KAFKAS_DEFAULT: Final = "Kafka's default"
_FIRST_SETTINGS: Final = ("topic", "description", "owner", "partitions", "replication_factor", "allow")
_REGISTRY_SUBJECTS: Final = tuple(("contents", part, "registry", "subject") for part in ("key", "value"))
# A longer value, such as a description, does not widen its column for all other rows.
_MAX_COLUMN_WIDTH: Final = 60
_LONGEST_WORD: Final = 10
_LEAST_WIDTH: Final = 8
_GAP: Final = "  "
_DURATIONS: Final = ("ms", "max_ahead", "max_lag", "max_silence", "every")
_UNITS: Final = {**dict.fromkeys(_DURATIONS, duration), "bytes": size, "max_bytes": size}


@dataclass(frozen=True)
class DeclaredValue:
    """A setting with its path and its value in Kafka's notation.

    ``location`` is the line that declares it; None for Kafka's default. ``broker_setting`` is the broker property that
    replaces Kafka's default if the broker sets it.
    """

    path: tuple[str, ...]
    value: Any
    location: Location | None
    broker_setting: str | None = None

    @property
    def source(self) -> str:
        return str(self.location) if self.location else KAFKAS_DEFAULT


def values(
    declaration: Declaration, brokers: BrokerSettings, subjects: Mapping[str, str] = MappingProxyType({})
) -> list[DeclaredValue]:
    """Return every value of a topic except its ACLs: the declared settings, then the defaults of the stack's Kafka.

    ``subjects`` are the names of the subjects that the topic registers, by part (``key`` or ``value``).
    """
    locations = declaration.locations
    declared = [DeclaredValue(("topic",), declaration.topic.name, locations.own.at(("topic",)))]
    declared += [
        DeclaredValue(tuple(map(str, path)), value, locations.at(path))
        for path, value in locations.settings.items()
        if path[0] != "access" and path not in _REGISTRY_SUBJECTS and value != {}
    ]
    declared += [
        DeclaredValue(path, subjects[path[1]], locations.at(path)) for path in _REGISTRY_SUBJECTS if path[1] in subjects
    ]
    declared += [
        DeclaredValue(
            ("access", "consume", f"{grant.name}{'*' if grant.prefix else ''}", "max_lag"),
            grant.max_lag,
            locations.at_item(("access", "consume"), index),
        )
        for index, grant in enumerate(declaration.topic.access.consume)
        if grant.max_lag is not None
    ]
    declared.sort(
        key=lambda each: (
            _FIRST_SETTINGS.index(each.path[0]) if each.path[0] in _FIRST_SETTINGS else len(_FIRST_SETTINGS),
            each.path,
        )
    )
    return declared + [
        DeclaredValue(("config", name), each.default, None, each.server_default)
        for name, each in sorted(definitions(brokers.kafka).items())
        if name not in declaration.topic.config and each.default is not None
    ]


def topic_text(
    topic_values: Sequence[DeclaredValue],
    access: Sequence[AccessRow],
    stack: str,
    brokers: BrokerSettings,
    width: int | None = None,
) -> str:
    """Return settings, values and their origins in columns; declared settings come first, then the access.

    Cells are wrapped to lines of ``width`` characters; None for lines of any length.
    """
    lines = [
        f"{topic_values[0].value if topic_values else NOTHING} on stack {stack}, Kafka {kafka_version(brokers.kafka)}"
    ]
    declared = [each for each in topic_values if each.location]
    defaults = [each for each in topic_values if not each.location]
    rows = [(".".join(_setting_name(each.path)), _value_text(each), each.source) for each in declared]
    rows += [(each.path[-1], _value_text(each), each.source + _broker_note(each)) for each in defaults]
    access_lines = ["", "access", *_columns(list(access_cells(access)), width)] if access else []
    return "\n".join([*lines, *_columns(rows, width), *access_lines]) + "\n"


def topic_json(
    topic_values: Sequence[DeclaredValue], access: Sequence[AccessRow], stack: str, brokers: BrokerSettings
) -> str:
    """Return ``values`` and the access as JSON.

    ``location`` has ``file``, ``line`` and ``column``, or is null for Kafka's default.
    """
    entries = [
        {
            "path": each.path,
            "value": _plain(each.value),
            "source": each.source,
            "location": asdict(each.location) if each.location else None,
        }
        for each in topic_values
    ]
    return _json(
        {
            "version": 1,
            "stack": stack,
            "kafka": kafka_version(brokers.kafka),
            "values": entries,
            "access": access_entries(access),
        }
    )


def list_text(declarations: Iterable[Declaration], brokers: BrokerSettings, width: int | None = None) -> str:
    """Return one line for each topic with its main settings; values in parentheses are Kafka's defaults.

    The topics are sorted by name. ``width`` is that of ``topic_text``.
    """
    header: tuple[str, ...] = (
        "topic",
        "partitions",
        "replicas",
        "min in-sync",
        "cleanup",
        "retention",
        "owner",
        "declared in",
    )
    rows = [header]
    for each in sorted(declarations, key=lambda each: each.topic.name):
        topic = each.topic
        settings = [
            _setting_text(topic, name, brokers) for name in ("min.insync.replicas", "cleanup.policy", "retention.ms")
        ]
        counts = (str(topic.partitions), str(topic.replication_factor))
        rows.append((topic.name, *counts, *settings, one_line(topic.owner or NOTHING), each.locations.own.file))
    return "\n".join(_columns(rows, width)) + "\n"


def list_json(declarations: Iterable[Declaration], stack: str, brokers: BrokerSettings) -> str:
    """Return every topic as JSON, with the declared part of its configuration."""
    topics = [
        {
            "topic": each.topic.name,
            "partitions": each.topic.partitions,
            "replication_factor": each.topic.replication_factor,
            "config": dict(each.topic.config),
            "owner": each.topic.owner,
            "file": each.locations.own.file,
        }
        for each in sorted(declarations, key=lambda each: each.topic.name)
    ]
    return _json({"version": 1, "stack": stack, "kafka": kafka_version(brokers.kafka), "topics": topics})


def _setting_text(topic: Topic, name: str, brokers: BrokerSettings) -> str:
    declared = topic.config.get(name)
    value = brokers.default(name) if declared is None else declared
    if name == "retention.ms" and "delete" not in (topic.cleanup_policies or {"delete"}):
        return NOTHING
    shown = NOTHING if value is None else _in_units(name, value) or value
    return shown if declared is not None else f"({shown})"


def _broker_note(each: DeclaredValue) -> str:
    return f", unless the broker sets {each.broker_setting}" if each.broker_setting else ""


def _setting_name(path: tuple[str, ...]) -> tuple[str, ...]:
    return path[1:] if path[0] == "config" else path


def _value_text(each: DeclaredValue) -> str:
    value = _plain(each.value)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = str(value).lower() if isinstance(value, bool) else one_line(text)
    meaning = _in_units(each.path[-1], text)
    return f"{text} ({meaning})" if meaning else text or '""'


def _in_units(name: str, value: str) -> str | None:
    """Return ``7 d`` for 604800000 milliseconds; None if the plain number is as readable."""
    unit = _UNITS.get(name.rsplit(".", 1)[-1])
    if unit is None or not value.lstrip("-").isdigit():
        return None
    if int(value) == 2**63 - 1:
        return "unlimited"
    if int(value) < 0:
        return "no limit" if name == "retention.ms" else None
    return unit(int(value)) if int(value) >= 1000 else None


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _columns(rows: Sequence[tuple[str, ...]], width: int | None) -> Iterator[str]:
    """Yield the lines of a table; cells of the widest columns are wrapped to lines of ``width``."""
    if width is not None and rows:
        yield from _wrapped_columns(rows, width)
        return
    widths = [
        max((len(cell) for cell in column if len(cell) <= _MAX_COLUMN_WIDTH), default=0)
        for column in zip(*rows, strict=True)
    ]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _wrapped_columns(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    columns = list(zip(*rows, strict=True))
    floors = [_least_width(column) for column in columns]
    widths = shrunk([max(1, *map(len, column)) for column in columns], floors, width)
    for row in rows:
        cells = [textwrap.wrap(cell, limit) or [""] for cell, limit in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            yield _GAP.join(cell.ljust(limit) for cell, limit in zip(line, widths, strict=True)).rstrip()


def _least_width(column: Iterable[str]) -> int:
    """Return the width below which a column is hard to read: its longest word, unless that is a name or a path."""
    longest = max((len(word) for cell in column for word in cell.split()), default=1)
    return longest if longest <= _LONGEST_WORD else _LEAST_WIDTH


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


@dataclass(frozen=True)
class AccessRow:
    """One ACL, the other operations that it allows, and the declarations that it comes from."""

    acl: Acl
    implied: tuple[Operation, ...]
    sources: tuple[AccessSource, ...]


def access_to(topic: str, access: DeclaredAccess) -> list[AccessRow]:
    """Return the ACLs that are about the topic, and those on groups and transactional ids that its YAML declares."""
    resource = Resource(ResourceType.TOPIC, topic)
    rows = []
    for acl, sources in access.acls.items():
        shown = sources if acl.matches(resource) else tuple(each for each in sources if each.topic == topic)
        if shown:
            rows.append(AccessRow(acl, _implied(acl), shown))
    return sorted(rows, key=lambda row: (row.acl.resource_type is not ResourceType.TOPIC, astuple(row.acl)))


def access_cells(rows: Iterable[AccessRow]) -> Iterator[tuple[str, str, str]]:
    """Yield for each ACL the cells of one line: the ACL, what it implies, and its origin."""
    for row in rows:
        implied = f"implies {', '.join(row.implied)}" if row.implied else ""
        origin = "; ".join(f"{each.location} ({each.description})" for each in row.sources)
        yield one_line(str(row.acl)), implied, one_line(origin)


def access_entries(rows: Iterable[AccessRow]) -> list[dict[str, Any]]:
    """Return the ACLs as plain values for JSON, in the words of Kafka's Java classes."""
    return [
        {name: str(value) for name, value in asdict(row.acl).items()}
        | {
            "implied": [str(operation) for operation in row.implied],
            "sources": [{"description": each.description, "location": asdict(each.location)} for each in row.sources],
        }
        for row in rows
    ]


def _implied(acl: Acl) -> tuple[Operation, ...]:
    allows = acl.permission is PermissionType.ALLOW
    return implied_operations(acl.operation, acl.resource_type) if allows else ()
