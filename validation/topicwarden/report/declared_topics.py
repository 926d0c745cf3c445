"""What a stack declares, for people and programs: a topic with the place of each value, and a line a topic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Final

from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.report.display import NOTHING, duration, one_line, size
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.configs import definitions, kafka_version
from topicwarden.specs.resolve import Declaration

KAFKAS_DEFAULT: Final = "Kafka's default"
_FIRST: Final = ("topic", "description", "owner", "partitions", "replication_factor", "allow")
# A longer description pushes its place to the right, and not those of all others.
_WIDEST: Final = 60
_UNITS: Final = {"ms": duration, "bytes": size, "max_ahead": duration, "max_bytes": size}


@dataclass(frozen=True)
class DeclaredValue:
    """A setting by its path, its value as Kafka spells it, and where it was written: None, it is Kafka's default.

    ``broker`` is the broker's property that holds where the topic says nothing.
    """

    path: tuple[str, ...]
    value: Any
    place: Location | None
    broker: str | None = None

    @property
    def source(self) -> str:
        return str(self.place) if self.place else KAFKAS_DEFAULT


def values(held: Declaration, brokers: BrokerSettings) -> list[DeclaredValue]:
    """Every value of a topic: what was declared, then the rest of the line of Kafka that the stack runs."""
    places = held.places
    written = [DeclaredValue(("topic",), held.topic.name, places.own.at(("topic",)))]
    written += [DeclaredValue(tuple(map(str, path)), value, places.at(path)) for path, value in places.settings.items()]
    written.sort(key=lambda each: (_FIRST.index(each.path[0]) if each.path[0] in _FIRST else len(_FIRST), each.path))
    return written + [
        DeclaredValue(("config", name), each.default, None, each.server_default)
        for name, each in definitions(brokers.kafka).items()
        if name not in held.topic.config and each.default is not None
    ]


def topic_text(found: Sequence[DeclaredValue], stack: str, brokers: BrokerSettings) -> str:
    """Setting, value and place in columns; what was declared first."""
    lines = [f"{found[0].value if found else NOTHING} on stack {stack}, Kafka {kafka_version(brokers.kafka)}"]
    declared = [each for each in found if each.place]
    defaults = [each for each in found if not each.place]
    rows = [(".".join(_named(each.path)), _shown(each), each.source) for each in declared]
    rows += [(each.path[-1], _shown(each), each.source + _broker(each)) for each in defaults]
    return "\n".join([*lines, *_columns(rows)]) + "\n"


def topic_json(found: Sequence[DeclaredValue], stack: str, brokers: BrokerSettings) -> str:
    """``values`` with their paths, each with ``file``, ``line`` and ``column``, or null where it is Kafka's default."""
    listed = [
        {
            "path": each.path,
            "value": _plain(each.value),
            "source": each.source,
            "place": asdict(each.place) if each.place else None,
        }
        for each in found
    ]
    return _json({"version": 1, "stack": stack, "kafka": kafka_version(brokers.kafka), "values": listed})


def list_text(held: Iterable[Declaration], brokers: BrokerSettings) -> str:
    """A line a topic, with its main numbers; values in brackets are Kafka's defaults."""
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
    for each in held:
        topic = each.topic
        settings = [_main(topic, name, brokers) for name in ("min.insync.replicas", "cleanup.policy", "retention.ms")]
        counts = (str(topic.partitions), str(topic.replication_factor))
        rows.append((topic.name, *counts, *settings, one_line(topic.owner or NOTHING), each.places.own.file))
    return "\n".join(_columns(rows)) + "\n"


def list_json(held: Iterable[Declaration], stack: str, brokers: BrokerSettings) -> str:
    """Every topic with its numbers, and only the configuration that is declared."""
    topics = [
        {
            "topic": each.topic.name,
            "partitions": each.topic.partitions,
            "replication_factor": each.topic.replication_factor,
            "config": dict(each.topic.config),
            "owner": each.topic.owner,
            "file": each.places.own.file,
        }
        for each in held
    ]
    return _json({"version": 1, "stack": stack, "kafka": kafka_version(brokers.kafka), "topics": topics})


def _main(topic: Topic, name: str, brokers: BrokerSettings) -> str:
    declared = topic.config.get(name)
    value = brokers.default(name) if declared is None else declared
    if name == "retention.ms" and "delete" not in (topic.cleanup_policies or {"delete"}):
        return NOTHING
    shown = NOTHING if value is None else _meant(name, value) or value
    return shown if declared is not None else f"({shown})"


def _broker(each: DeclaredValue) -> str:
    return f", or the broker's {each.broker}" if each.broker else ""


def _named(path: tuple[str, ...]) -> tuple[str, ...]:
    return path[1:] if path[0] == "config" else path


def _shown(each: DeclaredValue) -> str:
    value = _plain(each.value)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = str(value).lower() if isinstance(value, bool) else one_line(text)
    meaning = _meant(each.path[-1], text)
    return f"{text} ({meaning})" if meaning else text or '""'


def _meant(name: str, value: str) -> str | None:
    """``7 d`` for 604800000 milliseconds; None where the number says it as well."""
    unit = _UNITS.get(name.rsplit(".", 1)[-1])
    if unit is None or not value.lstrip("-").isdigit():
        return None
    if int(value) == 2**63 - 1:
        return "without bound"
    if int(value) < 0:
        return "for ever" if name == "retention.ms" else None
    return unit(int(value)) if int(value) >= 1000 else None


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [
        max((len(cell) for cell in column if len(cell) <= _WIDEST), default=0) for column in zip(*rows, strict=True)
    ]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
