"""What the formats draw: the problems of a check, what was looked at, and the lines that the problems are about."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.specs.spec_files import MAX_BYTES
from topicwarden.specs.yaml_nodes import LINE_BREAK


@dataclass(frozen=True)
class ProblemDigest:
    """The outcome of a check: its problems in order, the files and the number of topics that were looked at.

    ``root`` is the project; places are relative to it.
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
        """From the repository that the project lies in to the project, as ``kafka/``; empty where they are one."""
        for folder in (self.root, *self.root.parents):
            if (folder / ".git").exists():
                below = self.root.relative_to(folder).as_posix()
                return "" if below == "." else f"{below}/"
        return ""


class Sources:
    """The lines of files with problems, each file read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[str, list[str]] = {}

    def line(self, location: Location) -> str:
        """The line at ``location`` without its end; empty where the file cannot be read or has none."""
        if location.file not in self._lines:
            self._lines[location.file] = self._read(location.file)
        lines = self._lines[location.file]
        return lines[location.line - 1] if location.line <= len(lines) else ""

    def _read(self, file: str) -> list[str]:
        path = self._root / file
        # What the loader refused (a link out of the project, a pipe, a giant) is not read here either.
        if not Path(os.path.realpath(path)).is_relative_to(self._root.resolve()) or not path.is_file():
            return []
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError:
            return []
        return [] if len(data) > MAX_BYTES else LINE_BREAK.split(data.decode("utf-8-sig", "replace"))


def many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
