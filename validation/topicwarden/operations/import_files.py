"""Import topics from files of other tools: write their YAML. No cluster is contacted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from topicwarden.interchange.convert import SourceFile, read_all
from topicwarden.interchange.import_session import open_session
from topicwarden.model.files import read_regular_file
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.operations.import_report import ImportReport, SkippedTopics

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
) -> ImportReport:
    """Write YAML for the topics of ``sources`` that are not declared, and that match the globs ``patterns``.

    ``form`` is a key of ``FORMATS``; None recognises the format of each file. ``dry_run`` writes nothing. Raises
    Refusal if a file cannot be read, or if no topic matches.
    """
    session = open_session(project, stack, patterns)
    if session.errors:
        return ImportReport(session.stack, errors=session.errors)
    imported = read_all([_source(project, path) for path in sources], form)
    names = [source.topic.name for source in imported.topics]
    selected_names = set(session.select(names))
    converted, unknown_counts = session.completed(
        [source for source in imported.topics if source.topic.name in selected_names]
    )
    chosen = {} if unknown_counts else {source.topic.name: source.topic for source in converted}
    draft = session.draft_files(
        chosen.values(),
        None,
        {source.topic.name: source.comments for source in converted},
        {source.topic.name: source.schemas for source in converted},
    )
    locations = {source.topic.name: source.location for source in converted}
    refused = [Problem(locations[name], f"{name}: {reason}", "value") for name, reason in draft.refused.items()]
    if rejected := sorted([*imported.problems, *unknown_counts, *refused]):
        return ImportReport(session.stack, rejected=tuple(rejected), notes=imported.notes)
    if not dry_run:
        session.write(draft.files)
    new = sum(file.topic is not None for file in draft.files)
    others = [name for name in session.outside(names) if name not in chosen]
    return ImportReport(
        session.stack,
        files=tuple(draft.files),
        topics=len(chosen),
        notes=imported.notes,
        skipped=SkippedTopics(declared=len(chosen) - new, out_of_scope=len(others)),
        differences=tuple(session.differences(chosen, "in the file")),
        problems=tuple(session.check_files(draft.files, dry_run)),
    )


def _source(project: Project, path: Path) -> SourceFile:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    display_path = absolute.relative_to(project.root) if absolute.is_relative_to(project.root) else path
    try:
        root = project.root if absolute.is_relative_to(project.root) else absolute.parent
        return SourceFile(display_path.as_posix(), read_regular_file(path, _MAX_BYTES), absolute, root)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
