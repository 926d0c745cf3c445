"""Chooses the options of `pulumi up`, `destroy` and `refresh` that fit the backend and the number of topics."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from topicwarden.deploy.pulumi_engine import MOST_AT_ONCE, PulumiEngine
from topicwarden.deploy.pulumi_project import project_settings

_CHECKPOINTS_UP_TO: Final = 100
"""Resources up to which a file or bucket backend writes the whole state at each step: that is quadratic."""
NO_REFRESH: Final = "--refresh=false"
"""Overrides `options: {refresh: always}` of Pulumi.yaml: a deploy must not revert what its plan leaves."""
_SERVICE: Final = ("http://", "https://")
_PULUMI_CLOUD: Final = "https://api.pulumi.com"


def backend_url(engine: PulumiEngine) -> str:
    """Return the URL of the backend that has the state, in Pulumi's order: environment, project, last login."""
    variables = {**os.environ, **engine.variables}
    if url := variables.get("PULUMI_BACKEND_URL"):
        return url
    backend = project_settings(engine.project).get("backend")
    if isinstance(backend, dict) and (url := backend.get("url")):
        return str(url)
    home = Path(variables.get("PULUMI_HOME") or Path.home() / ".pulumi")
    try:
        return str(json.loads((home / "credentials.json").read_text(encoding="utf-8"))["current"])
    except (OSError, ValueError, KeyError, TypeError):
        return _PULUMI_CLOUD


@dataclass(frozen=True)
class WriteOptions:
    """Arguments and environment variables for `pulumi`, and the line that explains them."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    line: str

    def on(self, engine: PulumiEngine) -> PulumiEngine:
        """Return ``engine`` with these variables."""
        return replace(engine, variables={**engine.variables, **self.variables})


def write_options(command: str, backend: str, resources: int, *, refresh: str = "") -> WriteOptions:
    """Return the options for `up`, `destroy`, `refresh` or `import` of a stack with this number of topics and ACLs.

    ``backend`` is the URL of its state. ``refresh`` says why Pulumi first reads the topics into its state; empty if it
    does not.

    - Parallelism: as much as there is. An import waits for all topics at the same time.
    - Errors: one refused topic does not stop the others, except in an import.
    - Diffs: the engine does not ask the provider about resources with equal inputs.
    - Checkpoints: file and bucket backends get the state once, at the end. Topics of a killed run are adopted by the
      next one; see ``intent_log``. Pulumi Cloud records each step by itself.
    """
    once = resources > _CHECKPOINTS_UP_TO and not backend.startswith(_SERVICE)
    errors = ["--continue-on-error"] if command in ("up", "destroy") else []
    refreshes = ["--refresh" if refresh else NO_REFRESH] if command != "refresh" else []
    parallel = max(MOST_AT_ONCE, 2 * resources)
    arguments = [*errors, "--parallel", str(parallel), *refreshes]
    variables = {"PULUMI_ENABLE_LEGACY_DIFF": "true"}
    if once:
        variables |= {"PULUMI_SKIP_CHECKPOINTS": "true", "PULUMI_EXPERIMENTAL": "true"}
    state = "the state is written once, at the end" if once else "the state is written at each step"
    because = f"; state is refreshed, {refresh}" if refresh else ""
    return WriteOptions(tuple(arguments), variables, f"all topics at a time; {state}{because}")
