"""The ``pulumi`` of a command: the one of this shell, else the one that `topicwarden sandbox install` installed."""

from __future__ import annotations

import shutil

from topicwarden.deploy.engine import Engine
from topicwarden.project import Project
from topicwarden.sandbox.install import environment


def engine_of(project: Project, stack: str) -> Engine:
    """Pulumi for ``stack``; refuses where there is none."""
    return Engine(project, stack, {} if shutil.which("pulumi") else environment(project, stack))
