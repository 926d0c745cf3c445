"""The ``pulumi`` of a command: the one of this shell, else the one that `topicwarden sandbox install` installed."""

from __future__ import annotations

import shutil

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.project import Project
from topicwarden.toolchain import environment


def engine_of(project: Project, stack: str) -> PulumiEngine:
    """Pulumi for ``stack``; refuses where there is none."""
    return PulumiEngine(project, stack, {} if shutil.which("pulumi") else environment(project, stack))
