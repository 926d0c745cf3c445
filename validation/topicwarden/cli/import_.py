"""`topicwarden import`: write YAML for undeclared topics, from files or from a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from topicwarden.interchange.convert import FORMATS, SourceFile, read_all
from topicwarden.interchange.import_session import ImportSession, echo, open_session, report_skipped
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.regular_file import read_regular_file

_MAX_BYTES: Final = 64 << 20
"""The most bytes of a file of another tool. A description of 10,000 topics has less than 20 MiB."""


def import_(
    stack: str | None,
    patterns: Sequence[str],
    sources: Sequence[Path] = (),
    form: str | None = None,
    *,
    dry_run: bool = False,
    files_only: bool = False,
) -> int:
    """Write YAML for undeclared topics, adopt topics that are on the cluster as declared, and return the exit code.

    With ``sources``, files of other tools, the topics come from these files, and no cluster is contacted. Returns 1 if
    a topic was not imported, or if an imported topic violates a rule.
    """
    if form is not None and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}{did_you_mean(form, FORMATS) or ': expected ' + ', '.join(FORMATS)}")
    session = open_session(find_project(), stack, patterns)
    if session.errors:
        session.show(session.errors)
        echo(f"nothing was imported: {counted(len(session.errors), 'error')} in topics/ may hide what is declared")
        return 1
    if sources:
        return _from_files(session, sources, form, dry_run)
    from topicwarden.cli.import_from_cluster import import_from_cluster  # noqa: PLC0415 -- files need no client

    return import_from_cluster(session, dry_run=dry_run, files_only=files_only)


def _from_files(session: ImportSession, sources: Sequence[Path], form: str | None, dry_run: bool) -> int:
    imported = read_all([_source(session.project, path) for path in sources], form)
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
    places = {source.topic.name: source.place for source in converted}
    refused = [Problem(places[name], f"{name}: {reason}", "value") for name, reason in draft.refused.items()]
    for note in imported.notes:
        echo(str(note))
    if problems := sorted([*imported.problems, *unknown_counts, *refused]):
        session.show(problems)
        echo(f"nothing was imported: {counted(len(problems), 'error')}")
        return 1
    session.write(draft.files, dry_run)
    differences = session.differences(chosen, "in the file")
    others = [name for name in session.outside(names) if name not in chosen]
    report_skipped(len(chosen) - sum(file.topic is not None for file in draft.files), 0, {}, len(others))
    session.show(differences)
    errors = session.check_files(draft.files, dry_run)
    if not chosen:
        echo("nothing was imported: the files have no topic that a declaration could be written for")
    elif not dry_run:
        echo(
            f"next: `topicwarden import --stack {session.stack}` adopts the topics that are on the cluster as declared"
        )
    return 1 if errors or differences else 0


def _source(project: Project, path: Path) -> SourceFile:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    display_path = absolute.relative_to(project.root) if absolute.is_relative_to(project.root) else path
    try:
        root = project.root if absolute.is_relative_to(project.root) else absolute.parent
        return SourceFile(display_path.as_posix(), read_regular_file(path, _MAX_BYTES), absolute, root)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
