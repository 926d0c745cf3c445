"""Build the contract of each topic: the rules, as JSON, by which the reader judges its records.

``Contracts.java`` parses the JSON. A topic without declared contents has no contract, and costs nothing.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.kafka.connect.stack_connection import registry_for_java
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.contents import Contents
from topicwarden.model.field_types import LARGEST
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects, SubjectUse
from topicwarden.specs.declared_subjects import subject_name
from topicwarden.specs.record_schemas.protobuf import ProtoError, built_in_files, compile_proto
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.stacks.registry_settings import RegistrySettings


@dataclass(frozen=True)
class Contracts:
    """The contracts by topic, and the schema registry that they refer to."""

    topics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    registry: RegistrySettings | None = None
    by_key: frozenset[str] = frozenset()
    """The topics whose records are counted by key: compacted topics, and topics with rules for keys."""
    registry_states: Mapping[str, str] = field(default_factory=dict)
    """A digest, by topic, of the registry's answers that the judgement of its records depends on."""

    def options(self) -> dict[str, str]:
        """Return the contracts as options of the Spark reader."""
        options = {"contracts": json.dumps(self.topics)} if self.topics else {}
        if self.registry is None:
            return options
        of_protobuf = '"format": "protobuf"' in options.get("contracts", "")
        protos = {"protos": built_in_files()} if of_protobuf else {}
        return options | {"registry": json.dumps(registry_for_java(self.registry) | protos)}


NO_CONTRACTS = Contracts()


def build_contracts(
    topics: Iterable[LiveTopic],
    declarations: Mapping[str, Declaration],
    root: Path,
    registry: RegistrySettings | None,
    now: int,
    *,
    subjects: DeclaredSubjects = NO_SUBJECTS,
    personal_names: Collection[str] = (),
) -> Contracts:
    """Return the contracts of ``topics``.

    ``root`` is the project's folder. ``subjects`` are the declared subjects of the Schema Registry. Timestamps after
    ``now`` (ms) are in the future. Fields with one of ``personal_names`` look like personal data. A schema that cannot
    be used does not stop the audit; its topic's records remain undecided.
    """
    by_topic: dict[str, dict[str, Any]] = {}
    by_key = set()
    schemas = ProjectSchemas(root)
    for live in topics:
        topic, declaration = live.topic, declarations.get(live.topic.name)
        contents = declaration.topic.contents if declaration else Contents()
        terms: dict[str, Any] = {}
        if topic.compacted or contents.key.placed or contents.key.max_share is not None:
            by_key.add(topic.name)
            terms["partitions"] = topic.partitions
        if contents.timestamps.max_late is not None:
            terms["late"] = contents.timestamps.max_late
        if contents.arrival.counts:
            terms["arrival"] = contents.arrival.calendar.interval
        if contents.value.format == "json":
            terms["personal"] = {"declared": list(contents.personal or ()), "names": sorted(personal_names)}
        if declaration and (records := _records(declaration, schemas, now, subjects)):
            terms["records"] = records
        if terms:
            by_topic[topic.name] = terms
    return Contracts(by_topic, registry, frozenset(by_key))


def _records(declaration: Declaration, schemas: ProjectSchemas, now: int, subjects: DeclaredSubjects) -> dict[str, Any]:
    contents = declaration.topic.contents
    rules = {
        "key": encoding(declaration, "key", schemas, subjects),
        "value": encoding(declaration, "value", schemas, subjects),
        "headers": list(contents.headers.required or ()),
        "expressions": [{"id": rule.id, "require": rule.require} for rule in contents.expressions or ()],
        "largest": contents.records.max_bytes,
        "latest": None if (ahead := contents.timestamps.max_ahead) is None else min(now + ahead + CLOCK_MS, LARGEST),
    }
    return {name: rule for name, rule in rules.items() if rule not in (None, [], {})}


def encoding(
    declaration: Declaration, part: str, schemas: ProjectSchemas, subjects: DeclaredSubjects
) -> dict[str, Any]:
    """Return the declared encoding of ``part`` (``key`` or ``value``), as ``RecordContract.java`` reads it."""
    declared, path = declaration.topic.contents.encoding(part), schema_path(declaration, part)
    if declared.format is None:
        return {}
    found: dict[str, Any] = {"format": declared.format}
    if declared.registry:
        found |= {"registry": True, "subject": subject_name(declaration, part, schemas)}
    referenced = _referenced(declaration, part, subjects)
    if declared.registered:
        found |= {"ids": True, "references": referenced}
    by_own_schema = declared.registered is None or (declared.format == "avro" and referenced is not None)
    if by_own_schema:
        found |= {"message": declared.message}
        found |= _schema(path, declared.format, schemas, registry=bool(declared.registry)) if path else {}
    return {name: value for name, value in found.items() if value or name == "schema"}


def _referenced(declaration: Declaration, part: str, subjects: DeclaredSubjects) -> list[str] | None:
    """Return the schemas that the declared one refers to, dependencies first; None if not all of them are declared."""
    registered = declaration.topic.contents.encoding(part).registered
    if registered is None or not registered.references:
        return []
    managed = subjects.of_use(SubjectUse(declaration.topic.name, part))
    if managed is None:
        return None
    used = subjects.with_references_in_order([managed.name])
    needed = {subject.name for subject in used}
    if any(each.subject not in needed or each.version for subject in used for each in subject.schema.references):
        return None
    return [subject.schema.text for subject in used if subject is not managed]


def _schema(path: str, kind: str, schemas: ProjectSchemas, *, registry: bool) -> dict[str, str]:
    """Return the text of a schema or the descriptors of a ``.proto`` file; or the reason, as ``unusable``."""
    try:
        text = schemas.text(path)
        if kind != "protobuf" or registry:
            return {"schema": text}
        return {"descriptors": b64encode(compile_proto(text)).decode()}
    except UnusableSchema:
        return {"unusable": "its file cannot be read; see `topicwarden check`"}
    except ProtoError as error:
        return {"unusable": f"the file {error}"}
