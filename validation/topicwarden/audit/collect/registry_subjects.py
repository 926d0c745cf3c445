"""Read the declared subjects of the stack's Schema Registry, and which of their versions has the declared schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version, read_registry, registered_versions
from topicwarden.kafka.registry.registry_error import SETTING, RegistryError
from topicwarden.kafka.registry.same_schema import same
from topicwarden.model.subject import (
    DeclaredSubject,
    DeclaredSubjects,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SubjectUse,
    SubjectVersion,
)
from topicwarden.specs.stacks.registry_settings import RegistrySettings

MOST_VERSIONS = 500
"""The newest versions of one subject that an audit reads; each takes a request."""

_NO_REGISTRY = f"the stack has no Schema Registry; set {SETTING}"


def read_subjects(
    registry: RegistrySettings | None, declared: DeclaredSubjects, names: Collection[str], *, every_version: bool
) -> dict[str, AuditedSubject]:
    """Return the subjects ``names``, which are declared. Whatever the registry does not answer has a reason instead.

    Subjects that these refer to are read as well, because a reference may mean their latest version.
    ``every_version``: read all versions, also of subjects whose latest version has the declared schema.
    """
    if not names:
        return {}
    needed = declared.with_references(names)
    ordered = [subject for subject in declared.in_order() if subject.name in needed]
    if registry is None:
        found = {subject.name: AuditedSubject(subject, error=_NO_REGISTRY) for subject in ordered}
    else:
        try:
            with RegistryClient(registry) as client:
                found = _read(client, ordered, every_version)
        except RegistryError as error:
            found = {subject.name: AuditedSubject(subject, error=error.reason) for subject in ordered}
    referenced: dict[str, set[int]] = {}
    for subject in declared.subjects.values():
        for each in subject.schema.references:
            if each.version is not None:
                referenced.setdefault(each.subject, set()).add(each.version)
    return {name: replace(found[name], referenced=frozenset(referenced.get(name, ()))) for name in names}


def read_again(
    registry: RegistrySettings | None,
    declared: DeclaredSubjects,
    before: Mapping[str, AuditedSubject],
    *,
    every_version: bool,
) -> dict[str, AuditedSubject]:
    """Return ``before``; subjects that differ from their declaration are read again, and have the later state.

    A registry of several servers may answer with a state of a moment ago, and a deploy may be under way.
    """
    differing = [name for name, subject in before.items() if subject.error is None and not subject.as_declared]
    again = read_subjects(registry, declared, differing, every_version=every_version)
    return {**before, **again}


def subjects_of(
    topic: str, declared: DeclaredSubjects, audited: Mapping[str, AuditedSubject]
) -> dict[str, AuditedSubject]:
    """Return the audited subjects of a topic, by part: ``key`` or ``value``."""
    found = {part: declared.of_use(SubjectUse(topic, part)) for part in ("key", "value")}
    return {part: audited[subject.name] for part, subject in found.items() if subject and subject.name in audited}


def _read(client: RegistryClient, ordered: list[DeclaredSubject], every_version: bool) -> dict[str, AuditedSubject]:
    referenced = {each.subject for subject in ordered for each in subject.schema.references if each.version is None}
    live = read_registry(client, {subject.name for subject in ordered} | referenced)
    numbers = {name: subject.latest.version for name, subject in live.subjects.items() if subject.latest}
    found: dict[str, AuditedSubject] = {}
    for subject in ordered:
        audited = _subject(client, subject, live, numbers, every_version)
        if audited.registered:
            numbers[subject.name] = audited.registered.version
        found[subject.name] = audited
    return found


def _subject(
    client: RegistryClient,
    declared: DeclaredSubject,
    live: LiveRegistry,
    numbers: Mapping[str, int],
    every_version: bool,
) -> AuditedSubject:
    """Return one subject. ``numbers``: the version that a reference without one means, by subject."""
    found = live.subjects.get(declared.name, LiveSubject(declared.name, error=live.error))
    if live.error or found.error:
        return AuditedSubject(declared, error=live.error or found.error)
    audited = AuditedSubject(
        declared,
        found.latest,
        live.level(found),
        read_only=(live.mode or "").startswith("READONLY"),
    )
    if found.latest is None:
        return audited
    schema = _with_versions(declared.schema, numbers)
    try:
        registered = found.latest if same(schema, found.latest.schema) else _registered(client, declared.name, schema)
        is_latest = registered is not None and registered.version == found.latest.version
        versions = () if is_latest and not every_version else registered_versions(client, declared.name, MOST_VERSIONS)
    except RegistryError as error:
        return AuditedSubject(declared, error=error.reason)
    return replace(audited, registered=registered, versions=versions, complete=len(versions) < MOST_VERSIONS)


def _registered(client: RegistryClient, subject: str, schema: RegisteredSchema) -> SubjectVersion | None:
    """Return the version with ``schema``; None also if it refers to a subject that has no version."""
    if any(reference.version is None for reference in schema.references):
        return None
    return find_version(client, subject, schema)


def _with_versions(schema: RegisteredSchema, numbers: Mapping[str, int]) -> RegisteredSchema:
    references = tuple(
        each if each.version is not None else replace(each, version=numbers.get(each.subject))
        for each in schema.references
    )
    return replace(schema, references=references)
