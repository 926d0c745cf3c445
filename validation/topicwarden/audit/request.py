"""What is to be audited, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from topicwarden.audit.bounds import Bounds
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.registry import SchemaRegistry
from topicwarden.specs.resolve import Declaration
from topicwarden.verdict import Reading


@dataclass(frozen=True)
class Request:
    """What is to be audited: a stack's declarations against its cluster; ``patterns`` are globs of topic names.

    ``history`` is where audits remember, None for nowhere. ``root`` is the project's folder. ``partition_functions``
    are the ``module:function`` that may be imported.
    """

    stack: str
    connection: Connection
    declarations: tuple[Declaration, ...]
    patterns: tuple[str, ...] = ()
    history: str | None = None
    since: Reading = Reading.ALL
    bounds: Bounds = field(default_factory=Bounds)
    root: Path = Path()
    registry: SchemaRegistry | None = None
    partition_functions: frozenset[str] = frozenset()

    def wants(self, topic: str) -> bool:
        return not self.patterns or any(fnmatchcase(topic, pattern) for pattern in self.patterns)
