"""The subjects of a Schema Registry that one stack declares: in ``contents`` of topics, and in files of ``subjects/``.

Several topics may declare one subject, if they declare the same schema and settings.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from topicwarden.model.compatibility import Compatibility, SubjectStrategy
from topicwarden.model.contents import NO_CONTENTS, EncodedContents, RegistryReference
from topicwarden.model.message_text import Suggestions, quoted
from topicwarden.model.problem import MOST_PROBLEMS, Level, Location, Problem
from topicwarden.model.subject import (
    NO_SUBJECTS,
    DeclaredSubject,
    DeclaredSubjects,
    RegisteredSchema,
    SchemaReference,
    SubjectUse,
)
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.specs.load import LoadedDocuments
from topicwarden.specs.record_schemas import COMPILERS, record_name
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.validated_document import StackDocument

NAME: Final = "subject-name"
SCHEMA: Final = "subject-schema"
REFERENCE: Final = "subject-reference"
TWICE: Final = "subject-twice"
IDLE_ALLOWANCE: Final = "allowance-idle"

_CHANGES: Final = (AllowedChange.BREAK_READERS, AllowedChange.DELETE_SUBJECT)
_PARTS: Final = ("key", "value")
_FORMATS: Final = ", ".join(COMPILERS)


@dataclass(frozen=True)
class ResolvedSubjects:
    """The subjects of one stack, and the problems that only show for a stack.

    ``allowances`` are the allowed changes of the files below ``subjects/``, with their locations. ``idle_allowances``
    are the problems of allowances of topics that declare no subject on this stack.
    """

    subjects: DeclaredSubjects = NO_SUBJECTS
    problems: tuple[Problem, ...] = ()
    allowances: tuple[tuple[Allowance, Location], ...] = ()
    idle_allowances: frozenset[Problem] = frozenset()


@dataclass(frozen=True)
class _Claim:
    """One declaration of a subject. ``message`` is the message type of a topic's ``.proto`` file; empty: the first."""

    name: str
    schema: RegisteredSchema
    file: str
    compatibility: Compatibility | None
    location: Location
    locations: Mapping[str, Location]
    reference_locations: tuple[Location, ...]
    allow: frozenset[Allowance]
    message: str | None = None
    use: SubjectUse | None = None
    owner: str | None = None

    @property
    def home(self) -> str:
        """The topic, or the file below ``subjects/``."""
        return self.use.topic if self.use else self.location.file

    @property
    def settings(self) -> tuple[RegisteredSchema, Compatibility | None]:
        """The settings that all declarations of a subject must have in common."""
        return self.schema, self.compatibility


def resolve_subjects(
    loaded: LoadedDocuments,
    declarations: Iterable[Declaration],
    schemas: ProjectSchemas,
    stack: str | None,
    *,
    complete: bool = True,
) -> ResolvedSubjects:
    """Return the subjects of ``stack``: those of its topics, ``declarations``, and those of the loaded files.

    ``complete``: these are all declarations of the stack, so that a reference to another subject is an error.
    """
    collector = _Collector(schemas)
    for declaration in declarations:
        if declaration.topic.contents is not NO_CONTENTS or declaration.topic.allow:
            collector.add_topic(declaration)
    for document in loaded.documents:
        collector.add_file(StackDocument(document, stack))
    return collector.resolved(complete)


def subject_name(declaration: Declaration, part: str, schemas: ProjectSchemas) -> str:
    """Return the subject of the schema ids of ``part`` (``key`` or ``value``), as declared or by Confluent's default.

    A schema that cannot be read, or has no name, has the default.
    """
    contents = declaration.topic.contents.encoding(part)
    default = f"{declaration.topic.name}-{part}"
    if contents.registered is None:
        return contents.subject or default
    try:
        path = schema_path(declaration, part)
        return _name(declaration, part, schemas.text(path) if path else "") or default
    except UnusableSchema:
        return default


def registered_subjects(declaration: Declaration, schemas: ProjectSchemas) -> dict[str, str]:
    """Return the subjects that a deploy registers for a topic, by part (``key`` or ``value``)."""
    parts = [part for part in _PARTS if declaration.topic.contents.encoding(part).registered]
    return {part: subject_name(declaration, part, schemas) for part in parts}


def _name(declaration: Declaration, part: str, text: str) -> str | None:
    """Return the name of a subject that a deploy registers; None if its schema has no name, which the name needs."""
    contents = declaration.topic.contents.encoding(part)
    registered = contents.registered
    if registered is None or registered.subject is not None:
        return registered.subject if registered else None
    if registered.strategy in (None, SubjectStrategy.TOPIC):
        return f"{declaration.topic.name}-{part}"
    name = record_name(contents.format or "", text, contents.message)
    if name is None:
        return None
    return name if registered.strategy is SubjectStrategy.RECORD else f"{declaration.topic.name}-{name}"


@dataclass
class _Collector:
    """The declarations of subjects of one stack that were collected so far."""

    schemas: ProjectSchemas
    problems: list[Problem] = field(default_factory=list)
    claims: dict[str, list[_Claim]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    """Names of subjects that are declared without a usable schema."""
    allowances: list[tuple[Allowance, Location]] = field(default_factory=list)
    idle_allowances: set[Problem] = field(default_factory=set)

    def add_topic(self, declaration: Declaration) -> None:
        """Add the subjects of one topic."""
        topic = declaration.topic
        parts = [part for part in _PARTS if topic.contents.encoding(part).registered]
        for part in parts:
            self._add_part(declaration, part, topic.contents.encoding(part))
        if not parts:
            location = declaration.locations.at(("allow",))
            what = f"{topic.name} registers no schema: write a mapping under registry"
            self.idle_allowances |= {_idle(each, location, what) for each in topic.allow if each.change in _CHANGES}

    def add_file(self, file: StackDocument) -> None:
        """Add the subjects of one file below ``subjects/``."""
        allow: set[Allowance] = set()
        for entry, location in file.entries("allow"):
            allowance = Allowance(AllowedChange(entry["change"]), entry.get("until"))
            allow.add(allowance)
            self.allowances.append((allowance, location))
        is_empty = True
        for name, settings, locate in file.items("subjects"):
            is_empty = False
            self._add_subject(name, settings, locate, frozenset(allow))
        if is_empty:
            self.idle_allowances |= {
                _idle(*each, "this file declares no subject")
                for each in self.allowances[len(self.allowances) - len(allow) :]
            }

    def _add_part(self, declaration: Declaration, part: str, contents: EncodedContents) -> None:
        registered = contents.registered
        assert registered is not None
        topic, base = declaration.topic, ("contents", part)

        def locate(*path: str) -> Location:
            return declaration.locations.at((*base, *path))

        location = locate("registry")
        if registered.subject is not None and registered.strategy is not None:
            message = (
                f"expected a subject or a strategy, got the subject {quoted(registered.subject)} and the strategy "
                f"{registered.strategy.value}; keep one, and write null for an inherited one"
            )
            self._problem(locate("registry", "strategy"), message, NAME)
        if contents.subject is not None:
            remedy = (
                "keep registry.subject, and delete this"
                if registered.subject is not None
                else f"keep the registry's, and delete this; or write registry: {{subject: {contents.subject}}}"
            )
            message = f"the subject is named by the mapping under registry; {remedy}"
            self._problem(locate("subject"), message, NAME)
        path = schema_path(declaration, part)
        if contents.format is None or contents.format not in COMPILERS:
            written = f"the format {contents.format}" if contents.format else "no format"
            message = f"a mapping under registry registers a schema, got {written}; write format: {_FORMATS}"
            self._problem(locate("format") if contents.format else location, message, SCHEMA)
            return
        if path is None:
            message = (
                "a mapping under registry registers a schema, got none; write schema: FILE, or registry: true if "
                "somebody else registers it"
            )
            self._problem(location, message, SCHEMA)
            return
        text = self._text(path, locate("schema"))
        if text is None:
            if registered.subject is not None:
                self.incomplete.add(registered.subject)
            return
        name = _name(declaration, part, text)
        if name is None:
            strategy = registered.strategy.value if registered.strategy else ""
            unknown = tuple((each.name, None) for each in registered.references or ())
            if error := self.schemas.error(contents.format, text, contents.message or "", unknown):
                self._problem(locate("schema"), f"{path} {error}", SCHEMA)
            else:
                message = f"{path} has no name for the strategy {strategy}: {_NAMELESS[contents.format]}"
                self._problem(locate("registry", "strategy"), message, NAME)
            return
        references = tuple(registered.references or ())
        at_references = tuple(
            declaration.locations.at_item((*base, "registry", "references"), index) for index in range(len(references))
        )
        keys = {
            "subject": "subject" if registered.subject is not None else "strategy",
            "compatibility": "compatibility",
            "references": "references",
        }
        locations = {"schema": locate("schema")} | {
            key: locate("registry", name)
            for key, name in keys.items()
            if (*base, "registry", name) in declaration.locations.settings
        }
        self._claim(
            _Claim(
                name=name,
                schema=RegisteredSchema(contents.format, text, tuple(map(_reference, references))),
                file=path,
                compatibility=registered.compatibility,
                location=location,
                locations=locations,
                reference_locations=at_references,
                allow=frozenset(each for each in topic.allow if each.change in _CHANGES),
                message=contents.message or "",
                use=SubjectUse(topic.name, part),
                owner=topic.owner,
            )
        )

    def _add_subject(
        self, name: str, settings: Mapping[str, Any], locate: Callable[[str], Location], allow: frozenset[Allowance]
    ) -> None:
        missing = [key for key in ("format", "schema") if key not in settings]
        for key in missing:
            self._problem(locate(""), f"subjects.{name}.{key}: missing; write it", "missing")
        text = None
        if not missing:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(locate("schema").file), settings["schema"]))
            text = self._text(path, locate("schema"))
        if text is None:
            self.incomplete.add(name)
            return
        references = [RegistryReference.model_validate(each) for each in settings.get("references", ())]
        self._claim(
            _Claim(
                name=name,
                schema=RegisteredSchema(settings["format"], text, tuple(map(_reference, references))),
                file=path,
                compatibility=settings.get("compatibility"),
                location=locate(""),
                locations={
                    "subject": locate(""),
                    **{key: locate(key) for key in ("schema", "compatibility", "references") if key in settings},
                },
                reference_locations=(locate("references"),) * len(references),
                allow=allow,
                owner=settings.get("owner"),
            )
        )

    def _claim(self, claim: _Claim) -> None:
        if not claim.name.isprintable():
            message = f"a registry has no subject with the name {quoted(claim.name)}; delete the line break or tab"
            self._problem(claim.locations.get("subject", claim.location), message, NAME)
        seen: set[str] = set()
        for reference, location in zip(claim.schema.references, claim.reference_locations, strict=True):
            if reference.name in seen:
                message = f"the reference {quoted(reference.name)} is declared twice; keep one"
                self._problem(location, message, REFERENCE)
                self.incomplete.add(claim.name)
            seen.add(reference.name)
        self.claims.setdefault(claim.name, []).append(claim)

    def _text(self, path: str, location: Location) -> str | None:
        try:
            return self.schemas.text(path)
        except UnusableSchema as error:
            self._problem(location, f"{path} {error}", SCHEMA)
            return None

    def _problem(self, location: Location, message: str, rule: str) -> None:
        self.problems.append(Problem(location, message, rule))

    def resolved(self, complete: bool) -> ResolvedSubjects:
        """Return everything that was added, with the problems between declarations."""
        for claims in self.claims.values():
            self.problems += _contradictions(claims)
        subjects = {name: claims[0] for name, claims in self.claims.items()}
        cyclic = self._cycles(subjects)
        if complete:
            self._undeclared(subjects)
        allow: dict[str, set[Allowance]] = defaultdict(set)
        for allowance, location in self.allowances:
            allow[location.file].add(allowance)
        declared = DeclaredSubjects(
            {name: _subject(claims) for name, claims in self.claims.items() if name not in cyclic},
            {file: frozenset(words) for file, words in allow.items()},
        )
        self._compile(declared, cyclic | self.incomplete)
        return ResolvedSubjects(declared, tuple(self.problems), tuple(self.allowances), frozenset(self.idle_allowances))

    def _undeclared(self, subjects: Mapping[str, _Claim]) -> None:
        suggestions = Suggestions(subjects)
        for claim in (claim for claims in self.claims.values() for claim in claims):
            for reference, location in zip(claim.schema.references, claim.reference_locations, strict=True):
                known = reference.subject in subjects or reference.subject in self.incomplete
                if not known and reference.version is None:
                    suggestion = suggestions.did_you_mean(reference.subject, other_than=claim.name)
                    message = (
                        f"the subject {quoted(reference.subject)} of the reference {quoted(reference.name)} is not "
                        "declared, and the reference has no version"
                        f"{suggestion or '; declare it below subjects/, or write the version'}"
                    )
                    self._problem(location, message, REFERENCE)
                    self.incomplete.add(claim.name)

    def _cycles(self, subjects: Mapping[str, _Claim]) -> set[str]:
        """Report each circular reference, and return the subjects in them."""
        graph = {
            name: {each.subject for each in claim.schema.references if each.subject in subjects}
            for name, claim in subjects.items()
        }
        cyclic: set[str] = set()
        reported = 0
        while cycle := _cycle(graph):
            start = cycle.index(min(cycle))
            ordered = [*cycle[start:], *cycle[:start]]
            if reported < MOST_PROBLEMS:
                reported += 1
                self._report_cycle(subjects[ordered[0]], ordered)
            cyclic.update(ordered)
            for name in ordered:
                graph[name] = set()
        return cyclic

    def _report_cycle(self, claim: _Claim, names: Sequence[str]) -> None:
        following = names[1] if len(names) > 1 else names[0]
        location = next(
            location
            for reference, location in zip(claim.schema.references, claim.reference_locations, strict=True)
            if reference.subject == following
        )
        path = " -> ".join((*names, names[0]))
        message = f"the references are circular: {path}; a registry needs one of them first: remove a reference"
        self._problem(location, message, REFERENCE)

    def _compile(self, declared: DeclaredSubjects, broken: set[str]) -> None:
        """Report the schemas that do not compile, except those that refer to a broken one."""
        for subject in declared.in_order():
            targets = [each.subject for each in subject.schema.references if each.version is None]
            if subject.name in broken or any(target in broken for target in targets):
                broken.add(subject.name)
                continue
            references = declared.referenced_texts(subject.name)
            for claim in self.claims[subject.name]:
                error = _format_error(claim, declared) or self.schemas.error(
                    claim.schema.format, claim.schema.text, claim.message, references
                )
                if error:
                    self._problem(claim.locations["schema"], f"{claim.file} {error}", SCHEMA)
                    broken.add(subject.name)


def _format_error(claim: _Claim, declared: DeclaredSubjects) -> str | None:
    for reference in claim.schema.references:
        target = declared.subjects.get(reference.subject)
        if target and target.schema.format != claim.schema.format:
            return (
                f"is a schema of the format {claim.schema.format}, and refers to {reference.subject}, which has "
                f"the format {target.schema.format}; refer to a subject of the same format"
            )
    return None


_NAMELESS: Final = {
    "avro": "only Avro records have one; choose the strategy topic, or write a subject",
    "json": "write a title in the schema, choose the strategy topic, or write a subject",
    "protobuf": "it has no message",
}


def _reference(reference: RegistryReference) -> SchemaReference:
    return SchemaReference(reference.name, reference.subject, reference.version)


def _idle(allowance: Allowance, location: Location, reason: str) -> Problem:
    message = f"{allowance.change.value} allows nothing, because {reason}; delete it"
    return Problem(location, message, IDLE_ALLOWANCE, Level.WARNING)


def _contradictions(claims: Sequence[_Claim]) -> Iterator[Problem]:
    """Yield a problem at each declaration of a subject that differs from the first, and one at the first."""
    first = claims[0]
    differing = [claim for claim in claims if claim.settings != first.settings]
    for claim, other in [*((first, each) for each in differing[:1]), *((each, first) for each in differing)]:
        difference = next(
            what
            for what, same in (
                ("schema", claim.schema.text == other.schema.text and claim.schema.format == other.schema.format),
                ("references", claim.schema.references == other.schema.references),
                ("compatibility", claim.compatibility == other.compatibility),
            )
            if not same
        )
        remedy = "name another subject" if difference == "schema" else f"declare the same {difference}"
        message = (
            f"the subject {quoted(claim.name)} is also declared at {other.location}, with "
            f"{'another schema' if difference == 'schema' else f'other {difference}'}; {remedy}"
        )
        yield Problem(claim.locations.get(difference, claim.location), message, TWICE)


def _subject(claims: Sequence[_Claim]) -> DeclaredSubject:
    """Return the subject that all ``claims`` declare. A change is allowed if each of them allows it."""
    first = claims[0]
    return DeclaredSubject(
        name=first.name,
        schema=first.schema,
        file=first.file,
        location=first.location,
        compatibility=first.compatibility,
        uses=tuple(dict.fromkeys(claim.use for claim in claims if claim.use is not None)),
        allow=_common_allowances([claim.allow for claim in claims]),
        locations=first.locations,
        homes=tuple(dict.fromkeys(claim.home for claim in claims)),
    )


def _common_allowances(allowances: Sequence[frozenset[Allowance]]) -> frozenset[Allowance]:
    common: set[Allowance] = set()
    for change in _CHANGES:
        entries = [[each for each in allowed if each.change is change] for allowed in allowances]
        if all(entries):
            days = [each.until for allowed in entries for each in allowed if each.until is not None]
            common.add(Allowance(change, min(days, default=None)))
    return frozenset(common)


def _cycle(graph: Mapping[str, Iterable[str]]) -> list[str] | None:
    """Return the nodes of a cycle, each followed by one that it refers to; None if there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        nodes: list[str] = error.args[1]
        return nodes[:0:-1]
    return None
