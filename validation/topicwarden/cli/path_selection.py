"""The PATHs that a command is told, as files and folders of the project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.specs.spec_files import DEFAULTS


@dataclass(frozen=True)
class PathSelection:
    """What of a project is looked at: files and folders below ``topics/`` and ``policies/``; all of it where empty."""

    project: Project
    paths: tuple[Path, ...] = ()

    @property
    def topics(self) -> tuple[Path, ...]:
        """What of ``topics/`` must be read; nothing means all, which a policy needs, as it may be about any topic."""
        whole = any(not path.is_relative_to(self.project.topics) for path in self.paths)
        return () if whole else self.paths

    def shows(self, problem: Problem) -> bool:
        """Whether the problem stands in the selection, or in a ``_defaults.yaml`` that its topics inherit.

        A selected ``_defaults.yaml`` stands for its folder, as it reaches the topics there.
        """
        if not self.paths:
            return True
        place = self.project.root / problem.location.file
        if place.name == DEFAULTS and any(path.is_relative_to(place.parent) for path in self.paths):
            return True
        return any(place.is_relative_to(_reach(path)) for path in self.paths)

    def names(self, file: str) -> bool:
        """Whether a file was named itself, or its folder."""
        return not self.paths or any((self.project.root / file).is_relative_to(path) for path in self.paths)


def select(paths: Sequence[Path]) -> PathSelection:
    """What ``paths`` select of the project that the first of them lies in, or the working directory without any.

    Refuses what is not there, and what is not of topics/ or policies/.
    """
    project = find_project(paths[0] if paths and paths[0].is_dir() else paths[0].parent if paths else None)
    chosen: list[Path] = []
    for path in paths:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100
        # Not resolved itself: a link below topics/ is to be judged as the link that it is.
        whole = Path(os.path.realpath(absolute.parent), absolute.name)
        if not os.path.lexists(whole):
            raise Refusal(f"there is no {path}; name files and folders below topics/ or policies/")
        if project.root.is_relative_to(whole):
            return PathSelection(project)
        if not any(whole.is_relative_to(room) for room in (project.topics, project.policies)):
            raise Refusal(f"{path} is neither below topics/ nor below policies/ of {project.root}; name what is")
        chosen.append(whole)
    return PathSelection(project, tuple(chosen))


def _reach(path: Path) -> Path:
    return path.parent if path.name == DEFAULTS else path
