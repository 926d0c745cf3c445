"""The files and folders of a project that an operation is limited to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.specs.spec_files import DEFAULTS

_FOLDERS: Final = "topics/, access/, subjects/, policies/ or stacks/"


@dataclass(frozen=True)
class PathSelection:
    """The selected paths below the project's folders of YAML; everything if ``paths`` is empty."""

    project: Project
    paths: tuple[Path, ...] = ()

    @property
    def topics(self) -> tuple[Path, ...]:
        """The paths below ``topics/`` to read; empty for all, because another file concerns any topic."""
        all_topics = any(not path.is_relative_to(self.project.topics) for path in self.paths)
        return () if all_topics else self.paths

    def shows(self, problem: Problem) -> bool:
        """Return True if the problem is in the selection, or in a ``_defaults.yaml`` that selected topics inherit.

        A selected ``_defaults.yaml`` selects its whole folder, because it applies to all topics there.
        """
        if not self.paths:
            return True
        file = self.project.root / problem.location.file
        if file.name == DEFAULTS and any(path.is_relative_to(file.parent) for path in self.paths):
            return True
        return any(file.is_relative_to(_selected_root(path)) for path in self.paths)

    def names(self, file: str) -> bool:
        """Return True if the user selected ``file`` itself or a folder above it, or if everything is selected."""
        return not self.paths or any((self.project.root / file).is_relative_to(path) for path in self.paths)


def project_of(paths: Sequence[Path]) -> Project:
    """Return the project that contains the first path, or the working directory without paths."""
    return find_project(paths[0] if paths and paths[0].is_dir() else paths[0].parent if paths else None)


def select(project: Project, paths: Sequence[Path]) -> PathSelection:
    """Return the selection of ``paths`` in ``project``.

    Raises Refusal if a path does not exist, or is not below one of the project's folders of YAML.
    """
    chosen: list[Path] = []
    for path in paths:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100
        # Resolve only the parent: a symbolic link below topics/ must be checked as a link.
        resolved = Path(os.path.realpath(absolute.parent), absolute.name)
        if not os.path.lexists(resolved):
            raise Refusal(f"there is no {path}; expected files and folders below {_FOLDERS}")
        if project.root.is_relative_to(resolved):
            return PathSelection(project)
        folders = project.topics, project.access, project.subjects, project.policies, project.stacks
        if not any(resolved.is_relative_to(folder) for folder in folders):
            raise Refusal(f"{path} is not below {_FOLDERS} of {project.root}; select a path there")
        chosen.append(resolved)
    return PathSelection(project, tuple(chosen))


def _selected_root(path: Path) -> Path:
    return path.parent if path.name == DEFAULTS else path
