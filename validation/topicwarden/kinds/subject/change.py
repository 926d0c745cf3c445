"""Compares declared, deployed and registered subjects, and determines what a deploy would do with each one.

A registry never replaces a version. Registering a schema that a subject already has returns the version that exists,
and changes nothing: also if another version is the latest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Final, TypeAlias

from topicwarden.kafka.registry.same_schema import same
from topicwarden.kinds.difference import declared_action
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.planned_change import Action
from topicwarden.model.subject import (
    NO_SUBJECTS,
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    DeployedSubjects,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SchemaReference,
    SubjectVersion,
)
from topicwarden.model.topic import AllowedChange, allowed_on
from topicwarden.specs.record_schemas import record_name

Lookup: TypeAlias = Callable[[Mapping[str, RegisteredSchema]], Mapping[str, SubjectVersion | None]]
"""A function that finds the versions that subjects have for these schemas; None for a schema that is not registered."""

UNREAD: Final = LiveRegistry(error="it was not read")


@dataclass(frozen=True)
class SubjectChange:
    """The effect of a deploy on one subject.

    ``action`` is None if nothing changes. ``schema`` is the declared one, with the version of each reference; None for
    a version that this deploy registers. ``existing`` is the version that the registry has for it. ``written`` is the
    compatibility level that the deploy sets. ``replaces`` are subjects that readers of its topics use until this
    deploy: one that is renamed, or named by another strategy. ``allowed`` is what the YAML allows today: of a subject
    that is no longer declared, what it allowed at the last deploy.
    """

    name: str
    action: Action | None
    declared: DeclaredSubject | None = None
    deployed: DeployedSubject | None = None
    live: LiveSubject | None = None
    schema: RegisteredSchema | None = None
    existing: SubjectVersion | None = None
    registers: bool = False
    written: Compatibility | None = None
    edited: bool = False
    allowed: frozenset[AllowedChange] = frozenset()
    replaces: tuple[LiveSubject, ...] = ()

    @property
    def changes_readers(self) -> bool:
        """True if readers get another schema: a new version, or that of a subject with another name."""
        return self.registers or bool(self.replaces)

    @property
    def writes(self) -> bool:
        """True if the deploy sends a request that changes the registry."""
        return self.registers or self.written is not None or self.action is Action.DELETE

    @property
    def latest(self) -> SubjectVersion | None:
        """The latest version in the registry, if any is known."""
        return self.live.latest if self.live else None

    @property
    def unreachable(self) -> bool:
        """True if the declared schema is registered, and another version is the latest."""
        return self.existing is not None and self.latest is not None and self.existing.version != self.latest.version

    @property
    def reverted(self) -> bool:
        """True if the deploy writes although the declaration is the one that was deployed."""
        return self.deployed is not None and (self.registers or self.written is not None)

    @property
    def version(self) -> int | None:
        """The version that the registry has for the declared schema; None if the deploy registers it, or if unknown."""
        if self.registers:
            return None
        if self.existing is not None:
            return self.existing.version
        return self.deployed.version if self.deployed and not self.edited else None


@dataclass(frozen=True)
class RegistryChange:
    """All subjects that change, by name, and the registry as it was read.

    ``schemas`` are the declared schemas with the versions of their references, and ``versions`` their own versions, if
    the registry has them.
    """

    declared: DeclaredSubjects = NO_SUBJECTS
    deployed: DeployedSubjects = field(default_factory=dict)
    registry: LiveRegistry = UNREAD
    changes: Mapping[str, SubjectChange] = field(default_factory=dict)
    schemas: Mapping[str, RegisteredSchema] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def unjudged(self) -> Mapping[str, str]:
        """The subjects that would change and that the registry does not show, with the reason."""
        found = {}
        for name, change in self.changes.items():
            reason = self.registry.error or (change.live.error if change.live else None)
            if reason is not None and change.action is not Action.RELEASE:
                found[name] = reason
        return found

    def level(self, change: SubjectChange) -> Compatibility | None:
        """Return the level that applies to ``change`` before the deploy; None if it is not known.

        For the first version of a subject, it is that of the subject that it replaces.
        """
        live = change.live
        if change.latest is None and change.replaces and not (live and live.compatibility):
            live = change.replaces[0]
        return self.registry.level(live)


def registry_change(
    declared: DeclaredSubjects,
    deployed: DeployedSubjects,
    registry: LiveRegistry,
    *,
    today: date,
    lookup: Lookup = dict.fromkeys,
) -> RegistryChange:
    """Return what a deploy changes. A subject that the registry does not show is compared with Pulumi's state alone.

    ``registry`` has the declared and the deployed subjects, and those that they refer to.
    """
    found: dict[str, SubjectChange] = {}
    schemas: dict[str, RegisteredSchema] = {}
    new = [each for each in declared.subjects.values() if each.name not in deployed]
    leaving = _leaving_by_record(declared, deployed) if new else {}
    replaces = {each.name: _replaced(each, declared, deployed, leaving, registry) for each in new}
    for wave in waves(declared):
        resolved = {each.name: _resolved(each, declared, registry, found, deployed) for each in wave}
        schemas |= resolved
        existing = _existing(resolved, registry, lookup)
        for each in wave:
            found[each.name] = _declared_change(
                each,
                deployed.get(each.name),
                resolved[each.name],
                existing.get(each.name),
                registry=registry,
                today=today,
                replaces=replaces.get(each.name, ()),
            )
    versions = {name: change.version for name, change in found.items() if change.version is not None}
    for name, subject in deployed.items():
        if name not in declared.subjects:
            found[name] = _removed(subject, registry, today)
    changes = {name: change for name, change in sorted(found.items()) if change.action is not None}
    return RegistryChange(declared, deployed, registry, changes, schemas, versions)


def waves(declared: DeclaredSubjects) -> Iterator[list[DeclaredSubject]]:
    """Yield groups of subjects whose references are all in groups before them."""
    depths: dict[str, int] = {}
    groups: dict[int, list[DeclaredSubject]] = {}
    for subject in declared.in_order():
        below = [depths[each.subject] for each in subject.schema.references if each.subject in depths]
        depths[subject.name] = depth = max(below, default=-1) + 1
        groups.setdefault(depth, []).append(subject)
    for depth in sorted(groups):
        yield groups[depth]


def names_to_read(declared: DeclaredSubjects, deployed: DeployedSubjects) -> frozenset[str]:
    """Return the subjects that a comparison needs from the registry."""
    references = {each.subject for subject in declared.subjects.values() for each in subject.schema.references}
    new = (subject for name, subject in declared.subjects.items() if name not in deployed)
    earlier = {name for subject in new for name in earlier_names(subject)}
    return frozenset({*declared.subjects, *deployed, *references, *earlier})


def earlier_names(subject: DeclaredSubject) -> tuple[str, ...]:
    """Return the names that the other naming strategies give to the subject of the same records."""
    names = _names_by_topic(subject)
    record = _record_name(subject.schema)
    names += [record] if record and subject.uses else []
    return tuple(name for name in dict.fromkeys(names) if name != subject.name)


def _names_by_topic(subject: DeclaredSubject) -> list[str]:
    record = _record_name(subject.schema)
    return [
        name
        for use in subject.uses
        for name in (f"{use.topic}-{use.part}", *([f"{use.topic}-{record}"] if record else ()))
    ]


def _record_name(schema: RegisteredSchema) -> str | None:
    return record_name(schema.format, schema.text)


def _leaving_by_record(declared: DeclaredSubjects, deployed: DeployedSubjects) -> Mapping[str | None, list[str]]:
    """Return the subjects that leave the declaration by the names of their records; None if a name is not known."""
    found: dict[str | None, list[str]] = defaultdict(list)
    for name, each in deployed.items():
        if name not in declared.subjects:
            found[_record_name(each.schema)].append(name)
    return found


def _replaced(
    subject: DeclaredSubject,
    declared: DeclaredSubjects,
    deployed: DeployedSubjects,
    leaving: Mapping[str | None, list[str]],
    registry: LiveRegistry,
) -> tuple[LiveSubject, ...]:
    """Return the subjects that readers of the subject's topics use until this deploy, as far as they have versions.

    These are subjects that leave the declaration with the same record name, or with a name by another strategy. If the
    subject is new in the registry, they are also subjects with such names that nobody declares. A subject that is only
    named by its record is not one of them, because it belongs to no topic.
    """
    if not subject.uses:
        return ()
    record = _record_name(subject.schema)
    names = {name for name in earlier_names(subject) if name in deployed and name not in declared.subjects}
    names |= {*leaving.get(record, ())} if record is not None else set()
    live = registry.subjects.get(subject.name)
    if live is None or live.latest is None:
        names |= {*_names_by_topic(subject)} - declared.subjects.keys()
    found = (registry.subjects.get(name) for name in sorted(names - {subject.name}))
    return tuple(each for each in found if each is not None and each.latest is not None)


def complete(schema: RegisteredSchema) -> bool:
    """Return whether the versions of all references are known."""
    return all(each.version is not None for each in schema.references)


def _resolved(
    subject: DeclaredSubject,
    declared: DeclaredSubjects,
    registry: LiveRegistry,
    found: Mapping[str, SubjectChange],
    deployed: DeployedSubjects,
) -> RegisteredSchema:
    def version(reference: SchemaReference) -> int | None:
        if reference.version is not None:
            return reference.version
        other = found.get(reference.subject)
        if other is not None:
            return other.version
        live = registry.subjects.get(reference.subject)
        if live is not None and live.latest is not None:
            return live.latest.version
        return _deployed_version(deployed.get(subject.name), reference)

    references = tuple(replace(each, version=version(each)) for each in subject.schema.references)
    return replace(subject.schema, references=references)


def _deployed_version(subject: DeployedSubject | None, reference: SchemaReference) -> int | None:
    references = subject.schema.references if subject else ()
    key = reference.name, reference.subject
    return next((each.version for each in references if (each.name, each.subject) == key), None)


def _existing(
    schemas: Mapping[str, RegisteredSchema], registry: LiveRegistry, lookup: Lookup
) -> dict[str, SubjectVersion | None]:
    found: dict[str, SubjectVersion | None] = {}
    unknown = {}
    for name, schema in schemas.items():
        live = registry.subjects.get(name)
        if live is None or live.latest is None or live.error is not None or not complete(schema):
            continue
        if same(live.latest.schema, schema):
            found[name] = live.latest
        else:
            unknown[name] = schema
    return {**found, **(lookup(unknown) if unknown else {})}


def _declared_change(
    declared: DeclaredSubject,
    deployed: DeployedSubject | None,
    schema: RegisteredSchema,
    existing: SubjectVersion | None,
    *,
    registry: LiveRegistry,
    today: date,
    replaces: tuple[LiveSubject, ...],
) -> SubjectChange:
    live = registry.subjects.get(declared.name)
    judged = live is not None and live.error is None and registry.error is None
    edited = deployed is None or not same(deployed.schema, schema)
    level = declared.compatibility
    if not judged:
        changed_level = level is not None and (deployed is None or deployed.compatibility is not level)
        registers, written = edited, level if changed_level else None
    else:
        registers = existing is None
        written = level if level is not None and (live is None or live.compatibility is not level) else None
    change = SubjectChange(
        declared.name,
        None,
        declared,
        deployed,
        live,
        schema,
        existing,
        registers,
        written,
        edited,
        allowed_on(declared.allow, today),
        replaces,
    )
    return replace(change, action=_action(change, judged=judged))


def _action(change: SubjectChange, *, judged: bool) -> Action | None:
    writes = change.registers or change.written is not None
    as_live = not writes and not change.unreachable
    return declared_action(
        deployed=change.deployed is not None,
        edited=change.edited and not as_live if judged else writes,
        exists=change.latest is not None if judged else None,
        as_live=as_live,
        reverts=writes,
    )


def _removed(subject: DeployedSubject, registry: LiveRegistry, today: date) -> SubjectChange:
    live, allowed = registry.subjects.get(subject.name), allowed_on(subject.allow, today)
    gone = registry.error is None and live is not None and live.error is None and live.latest is None
    deletes = AllowedChange.DELETE_SUBJECT in allowed and not gone
    action = Action.DELETE if deletes else Action.RELEASE
    return SubjectChange(subject.name, action, deployed=subject, live=live, allowed=allowed)
