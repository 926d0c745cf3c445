"""What the reader is told of each topic: the contract that its records are judged by, as JSON.

The other side is ``codecs/Contracts.java``. A topic of which nothing is declared has no contract, and costs nothing.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from topicwarden.audit.horizon import CLOCK_MS
from topicwarden.kafka.registry import SchemaRegistry
from topicwarden.kafka.snapshot import LiveTopic
from topicwarden.specs.contents import schema_path
from topicwarden.specs.record_schemas.protobuf import ProtoError, compile_proto
from topicwarden.specs.resolve import Declaration
from topicwarden.topic import Contents


@dataclass(frozen=True)
class Contracts:
    """The contracts by topic, and the registry that they may name."""

    topics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    registry: SchemaRegistry | None = None
    by_key: frozenset[str] = frozenset()
    """Topics whose records are counted by key: compacted ones, and those with rules for keys."""

    def options(self) -> dict[str, str]:
        """The options of the reader."""
        options = {"contracts": json.dumps(self.topics)} if self.topics else {}
        return options | ({"registry": json.dumps(self.registry.for_java())} if self.registry else {})


NO_CONTRACTS = Contracts()
"""Nothing is declared of any topic."""


def contracts(
    topics: Iterable[LiveTopic],
    declarations: Mapping[str, Declaration],
    root: Path,
    registry: SchemaRegistry | None,
    now: int,
) -> Contracts:
    """The contracts of ``topics``; ``root`` is the project's, ``now`` the moment that is not the future yet (ms).

    A schema that cannot be used is no reason to stop: it leaves its topic's records undecided.
    """
    held: dict[str, dict[str, Any]] = {}
    by_key = set()
    for live in topics:
        topic, declaration = live.topic, declarations.get(live.topic.name)
        contents = declaration.topic.contents if declaration else Contents()
        terms: dict[str, Any] = {}
        if topic.compacted or contents.places_keys or contents.key_max_share is not None:
            by_key.add(topic.name)
            terms["partitions"] = topic.partitions
        if contents.timestamp_max_late_ms is not None:
            terms["late"] = contents.timestamp_max_late_ms
        if declaration and (records := _records(declaration, root, now)):
            terms["records"] = records
        if terms:
            held[topic.name] = terms
    return Contracts(held, registry, frozenset(by_key))


def _records(declaration: Declaration, root: Path, now: int) -> dict[str, Any]:
    contents = declaration.topic.contents
    rules = {
        "key": _encoded(declaration, "key", root),
        "value": _encoded(declaration, "value", root),
        "headers": list(contents.headers_required),
        "expressions": [{"id": each.id, "require": each.require} for each in contents.expressions],
        "largest": contents.record_max_bytes,
        "latest": None if (ahead := contents.timestamp_max_ahead_ms) is None else now + ahead + CLOCK_MS,
    }
    return {name: rule for name, rule in rules.items() if rule not in (None, [], {})}


def _encoded(declaration: Declaration, part: str, root: Path) -> dict[str, Any]:
    contents = declaration.topic.contents
    told = {name: getattr(contents, f"{part}_{name}") for name in ("format", "message", "registry", "subject")}
    if told["format"] is None:
        return {}
    if told["registry"]:
        told["subject"] = told["subject"] or f"{declaration.topic.name}-{part}"
    if path := schema_path(declaration, part):
        told |= _schema(root / path, told["format"], registry=bool(told["registry"]))
    return {name: value for name, value in told.items() if value or name == "schema"}


def _schema(file: Path, kind: str, *, registry: bool) -> dict[str, str]:
    """The text of a schema, or the descriptors of a ``.proto``; ``unusable`` says why there is none."""
    try:
        text = file.read_text(encoding="utf-8")
        if kind != "protobuf" or registry:
            return {"schema": text}
        return {"descriptors": b64encode(compile_proto(text)).decode()}
    except (OSError, UnicodeDecodeError):
        return {"unusable": "its file cannot be read; see `topicwarden check`"}
    except ProtoError as error:
        return {"unusable": f"the file {error}"}
