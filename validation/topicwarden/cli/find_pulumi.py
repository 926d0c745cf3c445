"""Find the ``pulumi`` program: the one on the PATH, else the one from `topicwarden sandbox install`."""

from __future__ import annotations

import shutil

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.project import Project
from topicwarden.toolchain import environment


def engine_of(project: Project, stack: str) -> PulumiEngine:
    """Return the Pulumi engine for ``stack``. Raises Refusal if Pulumi is not installed."""
    return PulumiEngine(project, stack, {} if shutil.which("pulumi") else environment(project, stack))
