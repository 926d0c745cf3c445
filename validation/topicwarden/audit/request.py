"""The request for one audit: topics, cluster and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.audit.collect.observation import Observation, observe
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.topic_selection import selected
from topicwarden.model.verdict import ReadScope
from topicwarden.specs.resolve import Declaration
from topicwarden.stacks.registry_settings import RegistrySettings
from topicwarden.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class AuditRequest:
    """The request to audit the declarations of a stack against its cluster.

    ``patterns`` are globs of topic names; empty selects all topics. ``history`` is the URL of the audit history, None
    to keep no history. ``root`` is the project folder. ``partition_functions`` are the Python functions
    (``module:function``) that may be imported. ``scope`` has the topics that the stack owns: the audit ignores all
    others.
    """

    stack: str
    connection: Connection
    declarations: tuple[Declaration, ...]
    patterns: tuple[str, ...] = ()
    history: str | None = None
    since: ReadScope = ReadScope.ALL
    bounds: ReadLimits = field(default_factory=ReadLimits)
    root: Path = Path()
    registry: RegistrySettings | None = None
    partition_functions: frozenset[str] = frozenset()
    scope: StackScope = EVERY_TOPIC

    def selects(self, topic: str) -> bool:
        """Return whether the topic is in scope and matches one of the patterns."""
        return self.scope.owns(topic) and selected(topic, self.patterns)

    def observe(self) -> Observation:
        """Read the cluster before the audit. Raises Refusal if it is unreachable."""
        return observe(self.connection, [each.topic.name for each in self.declarations], self.selects)
