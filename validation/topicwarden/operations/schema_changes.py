"""Compare the declared schemas of subjects with those of a Git commit, by the declared compatibility levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.message_text import counted, quoted
from topicwarden.model.problem import Level, Problem, limited
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubject, DeclaredSubjects
from topicwarden.operations.git_base import project_at
from topicwarden.specs.declared_subjects import resolve_subjects
from topicwarden.specs.load import load, load_subjects
from topicwarden.specs.record_schemas.schema_compatibility import (
    Comparison,
    CompatibilityVerdict,
    ResolvedSchema,
    incompatibilities,
)
from topicwarden.specs.resolve import resolve
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.schema_lines import schema_line
from topicwarden.toolchain import schema_checker

RULE = "schema-compatibility"

_OFFLINE = "all registered versions are compared by `topicwarden plan`"


@dataclass(frozen=True)
class SchemaChanges:
    """The problems of changed schemas, and notes about what was not compared, or by another level than before.

    ``errors_of`` is the number of errors that affect each stack.
    """

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    compared: int = 0
    errors_of: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _Change:
    """A subject whose schema or compatibility changed. Stacks that declare the same change are judged once.

    ``references`` are the texts of the schemas that the new version refers to, by name, and ``earlier_references``
    those of the earlier version.
    """

    subject: DeclaredSubject
    earlier: DeclaredSubject
    changed: bool
    """Whether the schema changed, or one that it refers to."""
    references: Mapping[str, str] = field(default_factory=dict)
    earlier_references: Mapping[str, str] = field(default_factory=dict)
    unknown: str | None = None
    """A referenced subject whose schema the project does not declare."""
    stacks: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the verdict depends on."""
        new, earlier = self.subject, self.earlier
        references = (tuple(sorted(each.items())) for each in (self.references, self.earlier_references))
        return new.name, new.file, new.schema, new.compatibility, earlier.schema, *references, self.unknown

    def comparison(self, level: Compatibility) -> Comparison:
        """Return the request to compare both versions by ``level``."""
        new, earlier = self.subject.schema, self.earlier.schema
        return Comparison(
            ResolvedSchema(new.format, new.text, self.references),
            (ResolvedSchema(earlier.format, earlier.text, self.earlier_references),),
            level,
        )


def schema_changes(
    project: Project,
    ref: str,
    declared: Mapping[str, DeclaredSubjects],
    say: Callable[[str], None],
    selected: Callable[[DeclaredSubject], bool] = lambda _: True,
) -> SchemaChanges:
    """Return what changed in the schemas of ``declared``, the subjects by stack, since the commit ``ref``.

    Only subjects for which ``selected`` is true are compared; the others are schemas that they may refer to.
    Starts a JVM only if a schema changed. ``say`` receives the progress of downloading the checkers on first use.
    Raises Refusal if Git cannot read ``ref``, or if the checkers cannot be provided.
    """
    with project_at(project, ref) as base:
        before = _declared_at(base, declared) if any(declared.values()) else {}
    notes: list[str] = []
    changes: dict[tuple[object, ...], _Change] = {}
    for stack, subjects in declared.items():
        earlier = before.get(stack, NO_SUBJECTS)
        chosen = [subject for subject in subjects.in_order() if selected(subject)]
        added = [subject.name for subject in chosen if subject.name not in earlier.subjects]
        if added:
            subject = counted(len(added), "subject")
            notes.append(f"{stack}: {subject} without a schema in {ref}, nothing to compare: {_names(added)}")
        for change in _changes(chosen, subjects, earlier):
            changes.setdefault(change.key, change).stacks.append(stack)
    judged = [
        change
        for change in changes.values()
        if change.changed and change.subject.compatibility is not Compatibility.NONE
    ]
    notes += _level_notes(changes.values(), ref)
    found = list(_judged(judged, ref, project, say, set(declared)))
    problems = limited(sorted({problem for _, problem in found}))
    errors_of = {
        stack: len({each for change, each in found if stack in change.stacks and each.level is Level.ERROR})
        for stack in declared
    }
    return SchemaChanges(tuple(problems), tuple(dict.fromkeys(notes)), len(judged), errors_of)


def _declared_at(base: Project, stacks: Iterable[str]) -> dict[str, DeclaredSubjects]:
    """Return the subjects of ``base`` by stack, without the problems of its files."""
    names = base.stack_names()
    topics, files = load(base.topics, base.root, names), load_subjects(base.subjects, base.root, names)
    schemas = ProjectSchemas(base.root)
    return {
        stack: resolve_subjects(files, resolve(topics, stack).declarations, schemas, stack).subjects
        for stack in stacks
        if stack in names
    }


def _changes(
    chosen: Iterable[DeclaredSubject], subjects: DeclaredSubjects, earlier: DeclaredSubjects
) -> Iterator[_Change]:
    for subject in chosen:
        old = earlier.subjects.get(subject.name)
        if old is None:
            continue
        references, unknown = _references(subject, subjects)
        old_references, old_unknown = _references(old, earlier)
        changed = subject.schema != old.schema or references != old_references
        if changed or subject.compatibility != old.compatibility:
            yield _Change(subject, old, changed, references, old_references, unknown or old_unknown)


def _references(subject: DeclaredSubject, subjects: DeclaredSubjects) -> tuple[dict[str, str], str | None]:
    """Return the texts of all schemas that ``subject`` refers to, and the first subject whose schema is not known.

    A reference with a version is to a registered schema, which may differ from the declared one.
    """
    texts: dict[str, str] = {}
    pending = list(subject.schema.references)
    while pending:
        reference = pending.pop()
        if reference.name in texts:
            continue
        target = subjects.subjects.get(reference.subject)
        if target is None or reference.version is not None:
            return texts, reference.subject
        texts[reference.name] = target.schema.text
        pending += target.schema.references
    return texts, None


def _level_notes(changes: Iterable[_Change], ref: str) -> Iterator[str]:
    for change in changes:
        new, old = change.subject, change.earlier
        if new.compatibility != old.compatibility:
            yield (
                f"{new.name}: the compatibility changes from {_level(old)} to {_level(new)}"
                f"{'; the schemas are compared by the new one' if change.changed else ''}"
            )
        if change.changed and new.compatibility is Compatibility.NONE:
            yield f"{new.name}: the schema differs from {ref}, and compatibility NONE allows any change"
        elif change.changed and new.compatibility and new.compatibility.transitive:
            yield f"{new.name}: {new.compatibility.value} was checked with {ref} only; {_OFFLINE}"


def _level(subject: DeclaredSubject) -> str:
    return subject.compatibility.value if subject.compatibility else "none declared"


def _judged(
    changes: Sequence[_Change], ref: str, project: Project, say: Callable[[str], None], stacks: set[str]
) -> Iterator[tuple[_Change, Problem]]:
    comparable: list[tuple[_Change, Comparison]] = []
    for change in changes:
        new, old = change.subject, change.earlier
        suffix = _suffix(change, stacks)
        if new.schema.format != old.schema.format:
            message = (
                f"{new.name}: the format changes from {old.schema.format} to {new.schema.format}, and registries "
                f"compare schemas of one format only; use another subject, or compatibility: NONE{suffix}"
            )
            yield change, Problem(new.location_of("schema"), message, RULE)
        elif new.compatibility is None:
            yield (
                change,
                _not_judged(change, ref, "the registry's own level applies, as no compatibility is declared", suffix),
            )
        elif change.unknown is not None:
            reason = f"it refers to the subject {quoted(change.unknown)}, whose schema is not in the project"
            yield change, _not_judged(change, ref, reason, suffix)
        else:
            comparable.append((change, change.comparison(new.compatibility)))
    if not comparable:
        return
    checker = schema_checker(project, say)
    verdicts = incompatibilities([comparison for _, comparison in comparable], checker)
    for (change, _), verdict in zip(comparable, verdicts, strict=True):
        for problem in _problems(change, verdict, ref, _suffix(change, stacks)):
            yield change, problem


def _problems(change: _Change, verdict: CompatibilityVerdict, ref: str, suffix: str) -> Iterator[Problem]:
    new, old = change.subject, change.earlier
    if verdict.error:
        yield _not_judged(change, ref, verdict.error, suffix)
    level = new.compatibility.value if new.compatibility else ""
    for found in verdict.incompatibilities:
        location = schema_line(new.file, new.schema.format, new.schema.text, old.schema.text, found)
        who = (
            "readers with the new schema cannot read earlier records"
            if found.backward
            else "readers with the earlier schema cannot read new records"
        )
        message = f"{new.name} is not {level} compatible with {ref}: {found.path}: {found.message}; {who}{suffix}"
        yield Problem(location, message, RULE)


def _not_judged(change: _Change, ref: str, reason: str, suffix: str) -> Problem:
    subject = change.subject
    message = f"{subject.name} was not compared with {ref}: {reason}; {_OFFLINE}{suffix}"
    return Problem(subject.location_of("schema"), message, RULE, Level.WARNING)


def _suffix(change: _Change, stacks: set[str]) -> str:
    return "" if set(change.stacks) >= stacks else f" (stack {', '.join(sorted(change.stacks))})"


def _names(names: Sequence[str]) -> str:
    shown = sorted(names)[:3]
    return ", ".join(shown) + (", …" if len(names) > len(shown) else "")
