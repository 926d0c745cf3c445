"""The input of all formats of a check: problems, checked files, and the source lines of the problems."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from topicwarden.model.files import MAX_BYTES
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.project import Project
from topicwarden.specs.yaml_nodes import LINE_BREAK


@dataclass(frozen=True)
class ProblemDigest:
    """The result of a check: the problems in order, the checked files, and the number of checked topics.

    ``root`` is the project's folder; the places of problems are relative to it.
    """

    root: Path
    problems: tuple[Problem, ...]
    files: tuple[str, ...]
    topics: int

    @property
    def errors(self) -> int:
        return sum(problem.level is Level.ERROR for problem in self.problems)

    @property
    def warnings(self) -> int:
        return len(self.problems) - self.errors

    @cached_property
    def sources(self) -> Sources:
        return Sources(self.root)

    @cached_property
    def prefix(self) -> str:
        """The path from the root of the Git repository to the project, such as ``kafka/``; empty if they are equal."""
        for folder in (self.root, *self.root.parents):
            if (folder / ".git").exists():
                path = self.root.relative_to(folder).as_posix()
                return "" if path == "." else f"{path}/"
        return ""


class Sources:
    """The lines of files with problems. Each file is read once.

    Stack files, and files below ``access/`` with users, have no lines here: a password may be on any of them, and logs
    of CI are read by many.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stacks, self._access = Project(root).stacks.name, Project(root).access.name
        self._lines: dict[str, list[str]] = {}

    def line(self, location: Location) -> str:
        """Return the line at ``location`` without its line break; empty if the file or the line cannot be read."""
        if location.file not in self._lines:
            self._lines[location.file] = self._read(location.file)
        lines = self._lines[location.file]
        return lines[location.line - 1] if location.line <= len(lines) else ""

    def _read(self, file: str) -> list[str]:
        path = self._root / file
        if file.partition("/")[0] == self._stacks:
            return []
        # The loader refuses links out of the project, pipes and very large files; do not read them here either.
        if not Path(os.path.realpath(path)).is_relative_to(self._root.resolve()) or not path.is_file():
            return []
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError:
            return []
        if len(data) > MAX_BYTES or (file.partition("/")[0] == self._access and b"users" in data):
            return []
        return LINE_BREAK.split(data.decode("utf-8-sig", "replace"))
