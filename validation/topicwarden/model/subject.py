"""Subjects of a Schema Registry: as declared, and as registered.

Names are those of Confluent's REST API, which Apicurio (``ccompat``), Karapace and Redpanda serve, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance


@dataclass(frozen=True, order=True)
class SchemaReference:
    """A reference to the schema of another subject. ``version`` None: the declared schema, or else the latest."""

    name: str
    subject: str
    version: int | None = None


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema: ``text`` in the ``format`` ``avro``, ``json`` or ``protobuf``, and what it refers to."""

    format: str
    text: str
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True)
class SubjectUse:
    """The part (``key`` or ``value``) of a topic whose records have the schema of a subject."""

    topic: str
    part: str


@dataclass(frozen=True)
class DeclaredSubject:
    """A subject that one stack declares.

    ``file`` is the path of the schema relative to the project's root, and ``location`` is the line of YAML that
    declares the subject. A ``compatibility`` of None leaves the registry's as it is. ``uses`` is empty for a subject
    of a file below ``subjects/`` that no topic uses. ``homes`` are the topics and the files below ``subjects/`` that
    declare it.
    """

    name: str
    schema: RegisteredSchema
    file: str
    location: Location
    compatibility: Compatibility | None = None
    uses: tuple[SubjectUse, ...] = ()
    allow: frozenset[Allowance] = frozenset()
    locations: Mapping[str, Location] = field(default_factory=dict, compare=False)
    """The lines of ``schema``, ``compatibility``, ``references`` and ``subject``, where they are written."""
    homes: tuple[str, ...] = ()

    def location_of(self, setting: str) -> Location:
        """Return the line of ``setting``; that of the subject if the setting is not written."""
        return self.locations.get(setting, self.location)


@dataclass(frozen=True)
class DeclaredSubjects:
    """The subjects of one stack, by name, and what each file below ``subjects/`` allows."""

    subjects: Mapping[str, DeclaredSubject] = field(default_factory=dict)
    allow: Mapping[str, frozenset[Allowance]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.subjects)

    def of_use(self, use: SubjectUse) -> DeclaredSubject | None:
        """Return the subject of the records' keys or values; None if a deploy registers no schema for them."""
        return self._by_use.get(use)

    @cached_property
    def _by_use(self) -> dict[SubjectUse, DeclaredSubject]:
        return {use: subject for subject in self.subjects.values() for use in subject.uses}

    def with_references(self, names: Iterable[str]) -> frozenset[str]:
        """Return the declared ones among ``names``, and all declared subjects that these refer to."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in self.subjects and name not in found:
                found.add(name)
                pending += (each.subject for each in self.subjects[name].schema.references)
        return frozenset(found)

    def in_order(self) -> Iterator[DeclaredSubject]:
        """Yield the subjects so that a referenced one comes before those that refer to it; else by name.

        The declaration has no circular reference: ``check`` refuses it.
        """
        done: set[str] = set()
        for name in sorted(self.subjects):
            yield from self._with_references(name, done)

    def with_references_in_order(self, names: Iterable[str]) -> list[DeclaredSubject]:
        """Return the subjects of ``with_references``, in the order of ``in_order``."""
        return [self.subjects[name] for name in sorted(self.with_references(names), key=self._positions.__getitem__)]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {subject.name: position for position, subject in enumerate(self.in_order())}

    def referenced_texts(self, name: str) -> tuple[tuple[str, str | None], ...]:
        """Return everything that the schema of a subject refers to, also by others: names with texts.

        Each comes after those that it refers to itself. The text is None if it is not known: the reference has a
        version, or its subject is not declared.
        """
        texts: dict[str, str | None] = {}
        for subject in self._with_references(name, set(), declared_only=True):
            for reference in subject.schema.references:
                target = self.subjects.get(reference.subject) if reference.version is None else None
                texts.setdefault(reference.name, target.schema.text if target else None)
        return tuple(texts.items())

    def _with_references(self, name: str, done: set[str], *, declared_only: bool = False) -> Iterator[DeclaredSubject]:
        stack = [(name, False)]
        while stack:
            current, complete = stack.pop()
            if current in done or current not in self.subjects:
                continue
            if complete:
                done.add(current)
                yield self.subjects[current]
                continue
            stack.append((current, True))
            references = self.subjects[current].schema.references
            stack += [
                (each.subject, False) for each in reversed(references) if each.version is None or not declared_only
            ]


NO_SUBJECTS = DeclaredSubjects()


@dataclass(frozen=True)
class SubjectVersion:
    """A version of a subject in the registry, with the id that records carry."""

    version: int
    id: int
    schema: RegisteredSchema


@dataclass(frozen=True)
class LiveSubject:
    """A subject in the registry. ``compatibility`` None: it has none of its own, so the registry's applies.

    ``latest`` None: the subject has no version (it is soft-deleted, or never had one). ``error``: why the rest is not
    known; then nothing may be concluded. ``inherited``: the level that applies to it, if it has none of its own and
    this user may not read the registry's.
    """

    name: str
    latest: SubjectVersion | None = None
    compatibility: Compatibility | None = None
    error: str | None = None
    inherited: Compatibility | None = None


@dataclass(frozen=True)
class LiveRegistry:
    """The answers of a registry. ``subjects`` has all names that were asked for, also those that do not exist.

    ``compatibility`` and ``mode`` are None, too, if this user may not read them. ``error``: the registry could not be
    reached, denies everything, or answered something else than its API; then ``subjects`` is empty.
    """

    subjects: Mapping[str, LiveSubject] = field(default_factory=dict)
    compatibility: Compatibility | None = None
    mode: str | None = None
    """Such as ``READWRITE``, ``READONLY``, ``READONLY_OVERRIDE`` or ``IMPORT``; None if the registry has no modes."""
    error: str | None = None

    def level(self, subject: LiveSubject | None) -> Compatibility | None:
        """Return the level that applies to a subject: its own, or else the registry's; None if it is not known."""
        return (subject and (subject.compatibility or subject.inherited)) or self.compatibility


@dataclass(frozen=True)
class DeployedSubject:
    """A subject in Pulumi's state, as last deployed. ``allow`` are the names that its YAML allowed then.

    ``revision`` counts the deploys that have reverted a change by hand.
    """

    name: str
    schema: RegisteredSchema
    compatibility: Compatibility | None = None
    version: int | None = None
    id: int | None = None
    allow: frozenset[Allowance] = frozenset()
    revision: int = 0


DeployedSubjects: TypeAlias = Mapping[str, DeployedSubject]


@dataclass(frozen=True)
class Incompatibility:
    """A reason why two schemas are not compatible: ``path`` in the schema such as ``/fields/2/type``, and a message.

    ``backward``: readers with the new schema cannot read what the earlier one wrote, and ``path`` is in the new schema.
    Otherwise readers with the earlier schema cannot read what the new one writes, and ``path`` is in the earlier one.
    """

    path: str
    message: str
    backward: bool = True
