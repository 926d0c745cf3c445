"""The request for one audit: topics, cluster and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.collect.observation import Observation, observe
from topicwarden.audit.collect.registry_subjects import read_again, read_subjects
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka_facts.broker_settings import DEFAULT_METADATA_MAX_AGE
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.finding import OF_CLUSTER
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.model.topic_selection import TopicSelection
from topicwarden.model.verdict import ReadScope
from topicwarden.policies.usage_policy import CostPolicy, UsagePolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class AuditRequest:
    """The request to audit the declarations of a stack against its cluster.

    ``patterns`` are globs of topic names; empty selects all topics. ``history`` is the URL of the audit history, None
    to keep no history. ``root`` is the project folder. ``partition_functions`` are the Python functions
    (``module:function``) that may be imported. ``scope`` has the topics that the stack owns: the audit ignores all
    others. ``access`` is the access that the stack declares. ``usage`` says after which time topics, groups and access
    count as unused; None reports none of them. ``cost`` has the prices of bytes. ``authorizer_log`` is the URL of the
    folder of authorizer logs, None for none, and ``log_time_zone`` the time zone of lines that name none. ``subjects``
    are the subjects of the Schema Registry that the stack declares. ``metadata_max_age`` (ms) is how long producers may
    take to notice new partitions. ``declared`` is false for a cluster that no project declares: then it is no fault of
    a topic that it is not declared.
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
    access: DeclaredAccess = NO_ACCESS
    usage: UsagePolicy | None = None
    cost: CostPolicy | None = None
    authorizer_log: str | None = None
    log_time_zone: str = "UTC"
    subjects: DeclaredSubjects = NO_SUBJECTS
    metadata_max_age: int = DEFAULT_METADATA_MAX_AGE
    declared: bool = True
    personal_names: frozenset[str] = frozenset()

    def selects(self, topic: str) -> bool:
        """Return whether the topic is in scope and matches one of the patterns."""
        return self.scope.owns(topic) and self._selection.has(topic)

    @cached_property
    def _selection(self) -> TopicSelection:
        return TopicSelection(self.patterns)

    def reports_access_of(self, subject: str) -> bool:
        """Return whether findings on the access of the topic ``subject`` are reported, or those of ``OF_CLUSTER``.

        Findings that concern no single topic are reported by audits of all topics only.
        """
        return not self.patterns if subject == OF_CLUSTER else self.selects(subject)

    def observe(self, on_snapshot: Callable[[Snapshot], object] | None = None) -> Observation:
        """Read the cluster before the audit; ``on_snapshot`` as in ``observe``. Raises Refusal if it is unreachable."""
        declared = [each.topic.name for each in self.declarations]
        with ThreadPoolExecutor(1, "registry") as executor:  # both wait for servers
            reading = executor.submit(self.read_subjects)
            observed = observe(self.connection, declared, self.selects, self.access, on_snapshot)
            return replace(observed, subjects=reading.result())

    def read_subjects(self, before: Mapping[str, AuditedSubject] | None = None) -> dict[str, AuditedSubject]:
        """Return the declared subjects of the selected topics, as the Schema Registry has them.

        ``before``: what it had a moment ago; then only those that differ from their declaration are read again.
        """
        every_version = self.usage is not None and self.usage.unused_schema_versions
        if before is not None:
            return read_again(self.registry, self.subjects, before, every_version=every_version)
        names = [
            name
            for name, subject in self.subjects.subjects.items()
            if any(self.selects(use.topic) for use in subject.uses)
        ]
        return read_subjects(self.registry, self.subjects, names, every_version=every_version)
