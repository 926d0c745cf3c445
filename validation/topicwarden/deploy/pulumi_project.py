"""Reads ``Pulumi.yaml``."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.stacks.project_file import read_project_file

_STACKS: Final = "stacks"
_LINES: Final = "`runtime: python`, `main: stacks/` and `stackConfigDir: stacks`"


def project_settings(project: Project) -> Mapping[str, Any]:
    """Return the settings in ``Pulumi.yaml``; refuse a file that is no mapping."""
    try:
        return read_project_file(project.root)
    except ValueError as error:
        raise Refusal(f"Pulumi.yaml {error}") from error


def require_program(project: Project) -> None:
    """Refuse a project whose ``Pulumi.yaml`` runs another program than ``stacks/__main__.py``.

    Pulumi would deploy whatever that program describes, or read the settings of another stack file. Pulumi's older name
    of ``stackConfigDir`` is ``config``. Source: https://www.pulumi.com/docs/iac/concepts/projects/project-file/
    """
    if runs_topicwarden(project):
        return
    raise Refusal(
        f"{project.root / 'Pulumi.yaml'} is of another Pulumi program: expected {_LINES}; "
        "keep the topics in a folder of their own: `topicwarden init kafka-topics`"
    )


def program_file(project: Project) -> Path:
    """Return the path of the program that Pulumi runs."""
    return project.stacks / "__main__.py"


def require_program_file(project: Project) -> None:
    """Refuse a project without the file of its program."""
    if not program_file(project).is_file():
        command = f"topicwarden init {shlex.quote(str(project.root))}"
        raise Refusal(f"stacks/__main__.py is missing: `{command}` writes it, and leaves the other files as they are")


def runs_topicwarden(project: Project) -> bool:
    """Return whether ``Pulumi.yaml`` runs ``stacks/__main__.py``; raises as ``project_settings`` does."""
    settings = project_settings(project)
    runtime = settings.get("runtime")
    name = runtime.get("name") if isinstance(runtime, dict) else runtime
    folders = settings.get("main"), settings.get("stackConfigDir") or settings.get("config")
    return name == "python" and all(isinstance(each, str) and os.path.normpath(each) == _STACKS for each in folders)
