"""Read and change Pulumi's state of a test stack in the files of its backend, which needs no process of Pulumi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.support.projects import Shell


def resources_in_state(shell: Shell) -> list[dict[str, Any]]:
    """Return the resources of the stack ``dev`` as `pulumi stack export` prints them, with encrypted secrets."""
    latest = json.loads(_file(shell).read_text(encoding="utf-8"))["checkpoint"]["latest"] or {}
    resources: list[dict[str, Any]] = latest.get("resources") or []
    return resources


def write_resources(shell: Shell, resources: list[dict[str, Any]]) -> None:
    """Replace the resources of the stack ``dev``, as `pulumi stack import` does."""
    file = _file(shell)
    state = json.loads(file.read_text(encoding="utf-8"))
    state["checkpoint"]["latest"]["resources"] = resources
    file.write_text(json.dumps(state), encoding="utf-8")


def _file(shell: Shell) -> Path:
    (file,) = Path(unquote(urlsplit(shell.variables["PULUMI_BACKEND_URL"]).path)).glob(".pulumi/stacks/*/dev.json")
    return file
