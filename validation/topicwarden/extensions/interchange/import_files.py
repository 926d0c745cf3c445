"""Import topics from files of other tools: write their YAML. No cluster is contacted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Final

from topicwarden.extensions.interchange.convert import ConvertedSubject, SourceFile, read_all
from topicwarden.extensions.interchange.convert.topic_reader import AccessKey
from topicwarden.extensions.interchange.import_session import open_session
from topicwarden.extensions.interchange.live_access import AccessDraft, declarable_access, draft_access
from topicwarden.extensions.interchange.subject_drafts import SubjectDraft
from topicwarden.model.access import NO_TOPIC_ACCESS
from topicwarden.model.files import read_regular_file
from topicwarden.model.problem import Level, Location, Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.specs.write import NewFile


@dataclass(frozen=True)
class SkippedTopics:
    """The numbers of topics that were not imported, and need no import, by reason."""

    declared: int = 0
    internal: int = 0
    out_of_scope: int = 0


@dataclass(frozen=True)
class ImportReport:
    """The files that were written for undeclared topics, or would be written, and what prevents an import.

    - ``errors``: errors of ``topics/`` and of the stack's settings; nothing was imported.
    - ``rejected``: parts of the files of other tools that cannot be imported; nothing was imported.
    - ``files``: the new files. ``topics`` is the number of topics in them, and those that are declared already.
      ``subjects`` is the number of new subjects.
    - ``notes``: parts of the files of other tools that YAML does not declare.
    - ``refused``: topics that cannot be declared, with the reason.
    - ``differences``: declared settings that differ from the imported topics.
    - ``problems``: what a check finds in the new files.
    - ``left_out``: the number of valid entries of the files that were not imported; notes have the reasons.
    - ``access``: whether the files declare access of the cluster. ``users`` is the number of SCRAM users in them.
    """

    stack: str
    errors: tuple[Problem, ...] = ()
    rejected: tuple[Problem, ...] = ()
    files: tuple[NewFile, ...] = ()
    topics: int = 0
    subjects: int = 0
    notes: tuple[Problem, ...] = ()
    skipped: SkippedTopics = SkippedTopics()
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    differences: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    left_out: int = 0
    access: bool = False
    users: int = 0

    @property
    def blocked(self) -> bool:
        """True if nothing was imported because of errors."""
        return bool(self.errors or self.rejected)

    @property
    def complete(self) -> bool:
        """True if nothing prevents the import of a selected topic."""
        failed = any(problem.level is Level.ERROR for problem in self.problems)
        return not (self.blocked or self.refused or self.differences or self.left_out or failed)


_MAX_BYTES: Final = 64 << 20
"""The most bytes of a file of another tool. A description of 10,000 topics has less than 20 MiB."""


def import_files(
    project: Project,
    stack: str | None,
    sources: Sequence[Path],
    patterns: Sequence[str] = (),
    form: str | None = None,
    *,
    dry_run: bool = False,
    include_unmanaged: bool = False,
    cluster: str | None = None,
    waive_until: date | None = None,
) -> ImportReport:
    """Write YAML for the topics of ``sources`` that are not declared, and that match the globs ``patterns``.

    ``form`` is a key of ``FORMATS``; None recognises the format of each file. ``dry_run`` writes nothing.
    ``include_unmanaged`` imports entries that the other tool does not apply, but those that it deletes;
    ``cluster`` selects the entries of one cluster. ``waive_until`` writes waivers until this day for what the topics
    violate. Raises Refusal if a file cannot be read, or if no topic matches.
    """
    session = open_session(project, stack, patterns, waive_until)
    if session.errors:
        return ImportReport(session.stack, errors=session.errors)
    files_read = [_source(project, path) for path in sources]
    imported = read_all(files_read, form, include_unmanaged=include_unmanaged, cluster=cluster)
    names = [source.topic.name for source in imported.topics]
    selected_names = set(session.select(names))
    converted, unknown_counts = session.completed(
        [source for source in imported.topics if source.topic.name in selected_names]
    )
    chosen = {} if unknown_counts else {source.topic.name: source.topic for source in converted}
    new_topics = [name for name in chosen if name not in session.declared]
    of_access = AccessDraft() if unknown_counts else draft_access(session, imported.access, new_topics, None)
    unconverted: list[tuple[AccessKey, str]] = []
    if of_access.refused:
        convertible, unconverted = declarable_access(imported.access)
        of_access = draft_access(session, convertible, new_topics, None)
    with_access = [replace(topic, access=of_access.topics.get(name, NO_TOPIC_ACCESS)) for name, topic in chosen.items()]
    subjects = SubjectDraft() if unknown_counts else session.draft_subjects(imported.subjects, with_access)
    schemas = {source.topic.name: source.schemas for source in converted}
    draft = session.draft_files(
        [subjects.topics.get(topic.name, topic) for topic in with_access],
        None,
        {source.topic.name: source.comments for source in converted},
        schemas | {name: (*schemas[name], *found) for name, found in subjects.schemas.items()},
        inherit_access=not imported.access.acls,
    )
    locations = {source.topic.name: source.location for source in converted}
    refused = [Problem(locations[name], f"{name}: {reason}", "value") for name, reason in draft.refused.items()]
    refused += [Problem(Location(files_read[0].file), reason, "value") for reason in of_access.refused.values()]
    files = (*subjects.files, *draft.files, *of_access.files)
    left_out = [
        *_refused_subjects(imported.subjects, subjects.refused),
        *(
            Problem(imported.access_locations[key], reason, "not-imported", Level.WARNING)
            for key, reason in unconverted
        ),
    ]
    notes = (*imported.notes, *left_out)
    if rejected := sorted([*imported.problems, *unknown_counts, *refused]):
        return ImportReport(session.stack, rejected=tuple(rejected), notes=notes)
    if not dry_run:
        session.write(files)
    new = sum(file.topic is not None for file in draft.files)
    others = [name for name in session.outside(names) if name not in chosen]
    files, problems, _ = session.check_files(files, chosen.keys(), dry_run)
    return ImportReport(
        session.stack,
        files=files,
        topics=len(chosen),
        subjects=subjects.subjects,
        notes=notes,
        skipped=SkippedTopics(declared=len(chosen) - new, out_of_scope=len(others)),
        differences=tuple(session.differences(chosen, "in the file")),
        problems=tuple(problems),
        left_out=imported.left_out + len(left_out),
    )


def _refused_subjects(subjects: Sequence[ConvertedSubject], refused: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each subject that cannot be declared, at its line."""
    for subject in subjects:
        if subject.name in refused and subject.location:
            message = f"subject {subject.name} was not imported: {refused[subject.name]}"
            yield Problem(subject.location, message, "not-imported", Level.WARNING)


def _source(project: Project, path: Path) -> SourceFile:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    display_path = absolute.relative_to(project.root) if absolute.is_relative_to(project.root) else path
    try:
        root = project.root if absolute.is_relative_to(project.root) else absolute.parent
        return SourceFile(display_path.as_posix(), read_regular_file(path, _MAX_BYTES), absolute, root)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
