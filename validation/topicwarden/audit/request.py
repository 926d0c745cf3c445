"""What is to be audited, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.schema_registry import SchemaRegistry
from topicwarden.model.verdict import ReadScope
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class AuditRequest:
    """What is to be audited: a stack's declarations against its cluster; ``patterns`` are globs of topic names.

    ``history`` is where audits remember, None for nowhere. ``root`` is the project's folder. ``partition_functions``
    are the ``module:function`` that may be imported.
    """

    stack: str
    connection: Connection
    declarations: tuple[Declaration, ...]
    patterns: tuple[str, ...] = ()
    history: str | None = None
    since: ReadScope = ReadScope.ALL
    bounds: ReadLimits = field(default_factory=ReadLimits)
    root: Path = Path()
    registry: SchemaRegistry | None = None
    partition_functions: frozenset[str] = frozenset()

    def wants(self, topic: str) -> bool:
        return not self.patterns or any(fnmatchcase(topic, pattern) for pattern in self.patterns)
