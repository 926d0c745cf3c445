"""Correct mistakes in ``topics/`` that have one obvious correction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.files import replace_file
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project
from topicwarden.operations.path_selection import select
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.spec_files import read_files


@dataclass(frozen=True)
class FixedFile:
    """The corrections of one file, whose path is relative to the project."""

    file: str
    before: bytes
    after: bytes


def fixed_files(project: Project, paths: Sequence[Path] = ()) -> Iterator[FixedFile]:
    """Yield each file that has corrections. Writes nothing.

    Only corrects files that ``paths`` name themselves, or whose folder they name; empty for all.
    """
    selection = select(project, paths)
    for spec in read_files(project.topics, project.root, selection.topics):
        if isinstance(spec, Problem) or not selection.names(spec.file):
            continue
        after = apply_fixes(spec.data, spec.defaults)
        if after != spec.data:
            yield FixedFile(spec.file, spec.data, after)


def write_fixed(project: Project, fixed: FixedFile) -> None:
    """Write the corrected file in place of the old one. Raises Refusal if that fails."""
    path = project.root / fixed.file
    target = path.resolve()
    try:
        replace_file(target, fixed.after, target.stat().st_mode & 0o7777)
    except OSError as error:
        raise Refusal(f"{path} cannot be written: {error.strerror or error}; check its permissions") from error
