"""Copy a project, so that the demo can change its files, and use the sandbox of the original from there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicwarden.model.project import CACHE, Project


def copy_of(project: Project, folder: Path) -> Project:
    """Return a copy of ``project`` in the new ``folder``, without its cache. Raises OSError if the folder exists."""
    folder.mkdir()
    for each in (project.topics, project.access, project.subjects, project.policies, project.stacks):
        if each.is_dir():
            shutil.copytree(each, folder / each.name)
    shutil.copy(project.root / "Pulumi.yaml", folder)
    return Project(folder)


@contextmanager
def shared_cache(project: Project) -> Iterator[None]:
    """Let all projects use the cache of ``project``, and so its sandbox, during the block."""
    previous = os.environ.get(CACHE)
    os.environ[CACHE] = str(project.cache)
    try:
        yield
    finally:
        if previous is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = previous
