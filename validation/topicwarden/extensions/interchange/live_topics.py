"""Live topics and subjects as YAML can declare them.

A topic has the settings of the topic itself, without those of its brokers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from topicwarden.extensions.interchange.convert.topic_reader import ConvertedSubject
from topicwarden.extensions.interchange.import_session import ImportSession
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import each_of, effective_compatibility, read_registry, subject_names
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Refusal
from topicwarden.model.subject import LiveRegistry, LiveSubject
from topicwarden.model.topic import Topic
from topicwarden.specs.stacks.registry_settings import RegistrySettings


@dataclass(frozen=True)
class DeclarableTopics:
    """The topics that YAML can declare, the reasons why others cannot be declared, and the count of internal topics."""

    topics: Mapping[str, Topic]
    refused: Mapping[str, str]
    internal: int


def declarable_topics(snapshot: Snapshot) -> DeclarableTopics:
    """Classify the topics of a snapshot. The topics' ``config`` has only Kafka's ``DYNAMIC_TOPIC_CONFIG`` entries."""
    topics: dict[str, Topic] = {}
    refused: dict[str, str] = {}
    internal = 0
    for name, live in snapshot.topics.items():
        # Components of the platform create topics that begin with two underscores for their own use.
        if live.topic.internal or name.startswith("__"):
            internal += 1
        elif reason := _refusal(live):
            refused[name] = reason
        else:
            topics[name] = with_own_config(live)
    return DeclarableTopics(topics, refused, internal)


def with_own_config(live: LiveTopic) -> Topic:
    """Return the topic with only the settings of the topic itself."""
    return replace(live.topic, config=live.own_config)


def changed_topics(before: Snapshot, after: Snapshot, names: tuple[str, ...]) -> list[str]:
    """Return those of ``names`` that differ: in a setting or its source, a replica, or the topic's id."""
    return [name for name in names if _state(before.topics.get(name)) != _state(after.topics.get(name))]


def _state(live: LiveTopic | None) -> object:
    if live is None:
        return None
    replicas = [(partition.partition, partition.replicas) for partition in live.replicas]
    return live.id, live.topic, live.sources, replicas


def _refusal(live: LiveTopic) -> str | None:
    replica_counts = {len(partition.replicas) for partition in live.replicas}
    if not live.sources:
        return "its settings cannot be read; grant DescribeConfigs on the topic"
    if any(setting in live.own_config for setting in REPLICAS):
        return "it has a replication throttle; remove the throttle with kafka-configs after the reassignment"
    if len(replica_counts) > 1:
        return (
            f"its partitions have {min(replica_counts)} to {max(replica_counts)} replicas, but YAML has one number; "
            "first give all partitions the same number of replicas"
        )
    return None


_PARTS: Final = ("key", "value")


@dataclass(frozen=True)
class ImportableSubjects:
    """The subjects to declare, the latest version of every subject, and by name, why one cannot be declared."""

    subjects: tuple[ConvertedSubject, ...] = ()
    latest: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


def read_subjects(
    session: ImportSession, settings: RegistrySettings, topics: Collection[str], selected: Collection[str]
) -> ImportableSubjects:
    """Read the subjects of the ``selected`` topics of the cluster, and of no topic, with those that they refer to.

    ``topics`` are all topics of the cluster. With patterns of topics, only subjects of the selected topics are read,
    and what they refer to. Raise Refusal if the registry as a whole cannot be read.
    """
    with RegistryClient(settings) as client:
        names = subject_names(client)
        registry = read_registry(client, names)
        if registry.error:
            raise Refusal(registry.error)
        lost = [each.error for each in registry.subjects.values() if each.error]
        if lost and len(lost) == len(registry.subjects):
            raise Refusal(f"no subject can be read: {lost[0]}")
        requested = _with_references(_requested(session, names, topics, selected), registry.subjects)
        inherited = _inherited(client, registry, requested)
    found: list[ConvertedSubject] = []
    refused: dict[str, str] = {}
    for name in sorted(requested):
        subject = registry.subjects.get(name)
        if subject is None or (subject.latest is None and subject.error is None):
            refused[name] = "it has no version: it is deleted (soft delete), although other subjects refer to it"
        elif subject.latest is None:
            refused[name] = subject.error or ""
        else:
            latest = subject.latest
            level = None if name in inherited else subject.compatibility
            found.append(ConvertedSubject(name, latest.schema, level, latest.version))
    return ImportableSubjects(
        tuple(found),
        {name: each.latest.version for name, each in registry.subjects.items() if each.latest},
        refused,
    )


def _inherited(client: RegistryClient, registry: LiveRegistry, names: Collection[str]) -> set[str]:
    """Return the subjects whose level NONE may not be their own: some registries return NONE if none is set."""
    without = [name for name in names if name in registry.subjects]
    without = [name for name in without if registry.subjects[name].compatibility is Compatibility.NONE]
    if registry.compatibility in (None, Compatibility.NONE):
        return set(without)
    effective = each_of(client, partial(effective_compatibility, client), without)
    return {name for name, level in effective.items() if level is not Compatibility.NONE}


def _requested(
    session: ImportSession, names: Iterable[str], topics: Collection[str], selected: Collection[str]
) -> set[str]:
    """Return the names of subjects to declare: of selected topics, and without patterns also those of no topic."""
    requested = set()
    for name in names:
        topic = _topic_of(name, topics)
        of_no_topic = topic is None and not session.patterns and session.scope.owns(name)
        if of_no_topic or topic in selected:
            requested.add(name)
    return requested


def _topic_of(subject: str, topics: Collection[str]) -> str | None:
    """Return the topic whose records a subject is for, as its name tells; the longest one if several fit."""
    for part in _PARTS:
        if subject.endswith(f"-{part}") and (topic := subject.removesuffix(f"-{part}")) in topics:
            return topic
    prefixes = (subject[:index] for index in range(len(subject) - 1, 0, -1) if subject[index] == "-")
    return next((prefix for prefix in prefixes if prefix in topics), None)


def _with_references(requested: set[str], subjects: Mapping[str, LiveSubject]) -> set[str]:
    """Return the names, with those of all subjects that they refer to."""
    found, remaining = set(requested), list(requested)
    while remaining:
        subject = subjects.get(remaining.pop())
        for reference in subject.latest.schema.references if subject and subject.latest else ():
            if reference.subject not in found:
                found.add(reference.subject)
                remaining.append(reference.subject)
    return found
