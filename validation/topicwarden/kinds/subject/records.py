"""Before a deploy is judged, read the retained records of topics whose schema changes, with the new schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.groups_by_topic import groups_by_topic
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kinds.subject.change import RegistryChange, SubjectChange, earlier_names
from topicwarden.kinds.subject.evidence import SubjectEvidence, TopicReaders
from topicwarden.kinds.topic.evidence import non_empty
from topicwarden.model.readability import Readability, RetainedRecords, SchemaScan
from topicwarden.model.subject import DeclaredSubject, RegisteredSchema, SchemaReference
from topicwarden.model.topic import Topic


@dataclass(frozen=True)
class RecordsOfTopics:
    """Reads the retained records of topics whose schema changes, with the new schema.

    ``topics`` are the declared topics by name.
    """

    cluster: Cluster
    snapshot: Snapshot
    topics: Mapping[str, Topic]
    reader: RetainedRecords

    def added_to(self, evidence: SubjectEvidence, change: RegistryChange) -> SubjectEvidence:
        """Return ``evidence`` with the scans of the subjects that get a new version."""
        changed = {
            name: each
            for name, each in change.changes.items()
            if each.changes_readers
            and each.declared is not None
            and name not in change.unjudged
            and _has_writers(each.declared, change)
        }
        used = {use.topic for each in changed.values() if each.declared for use in each.declared.uses}
        unscanned = dict(self._hidden(changed))
        used &= self.snapshot.topics.keys()
        live = self.cluster.with_extents(self.snapshot, sorted(used)).topics if used else {}
        scans: list[SchemaScan] = []
        for name, each in changed.items():
            texts = _reference_texts(each, change)
            found = list(self._scans(each, live, texts or {}))
            if found and texts is None:
                unscanned.setdefault(name, "it refers to a schema whose text is not known before the deploy")
            else:
                scans += found
        if not scans:
            return replace(evidence, unscanned=unscanned)
        results = self.reader.read(scans)
        readability: dict[str, tuple[Readability, ...]] = {}
        for scan, result in zip(scans, results, strict=True):
            readability[scan.subject] = (*readability.get(scan.subject, ()), result)
        return replace(evidence, readability=readability, readers=self._readers(scans, live), unscanned=unscanned)

    def _hidden(self, changed: Mapping[str, SubjectChange]) -> Iterable[tuple[str, str]]:
        """Yield the subjects of topics that this user may not describe, with the reason: they may have records."""
        for name, each in changed.items():
            hidden = sorted({use.topic for use in each.declared.uses} & self.snapshot.hidden) if each.declared else []
            if hidden:
                yield name, f"this user may not describe {hidden[0]} (Describe on the topic)"

    def _scans(
        self, change: SubjectChange, live: Mapping[str, LiveTopic], references: Mapping[str, str]
    ) -> Iterable[SchemaScan]:
        if change.declared is None or change.schema is None:
            return
        earlier = tuple(sorted({*earlier_names(change.declared), *(each.name for each in change.replaces)}))
        for use in change.declared.uses:
            if use.topic in live and _may_have_records(live[use.topic]):
                message = _message(self.topics.get(use.topic), use.part)
                yield SchemaScan(use.topic, use.part, change.name, change.schema, references, message, earlier)

    def _readers(self, scans: Iterable[SchemaScan], live: Mapping[str, LiveTopic]) -> dict[str, TopicReaders]:
        names = sorted({scan.topic for scan in scans})
        groups_of = groups_by_topic(self.cluster.groups(names))
        return {name: TopicReaders(groups_of.get(name, ()), live[name]) for name in names}


def _has_writers(declared: DeclaredSubject, change: RegistryChange) -> bool:
    """Return whether records may have a schema id of the subject, or of an earlier one: without, none is affected."""
    if declared.name in change.deployed or change.changes[declared.name].replaces:
        return True
    live = (change.registry.subjects.get(name) for name in (declared.name, *earlier_names(declared)))
    return any(each is not None and (each.latest is not None or each.error is not None) for each in live)


def _may_have_records(live: LiveTopic) -> bool:
    """Return whether a partition has records, or has no leader that could tell."""
    return bool(non_empty(live)) or any(each.partition not in live.extents for each in live.replicas)


def _message(topic: Topic | None, part: str) -> str | None:
    if topic is None:
        return None
    encoded = topic.contents.key if part == "key" else topic.contents.value
    return encoded.message if encoded else None


def _referenced(reference: SchemaReference, registry: RegistryChange) -> RegisteredSchema | None:
    """Return the schema of a version, if it is the declared or the latest one: of others, only the number is known."""
    live = registry.registry.subjects.get(reference.subject)
    if reference.version in (None, registry.versions.get(reference.subject)):
        return registry.schemas.get(reference.subject)
    return live.latest.schema if live and live.latest and live.latest.version == reference.version else None


def _reference_texts(change: SubjectChange, registry: RegistryChange) -> Mapping[str, str] | None:
    """Return the texts of all schemas that the new one refers to, the innermost first; None if one is not known."""

    @cache  # several schemas may refer to the same one
    def below(schema: RegisteredSchema) -> Mapping[str, str] | None:
        texts: dict[str, str] = {}
        for reference in schema.references:
            target = _referenced(reference, registry)
            if target is None or (inner := below(target)) is None:
                return None
            texts |= inner
            texts[reference.name] = target.text
        return texts

    return below(change.schema) if change.schema is not None else None
