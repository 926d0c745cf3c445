"""Where things lie: the project that a command runs in, and its git-ignored cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal


@dataclass(frozen=True)
class Project:
    """A folder with a ``Pulumi.yaml``, and beside it ``topics/``, ``policies/`` and ``stacks/``."""

    root: Path

    @property
    def topics(self) -> Path:
        return self.root / "topics"

    @property
    def policies(self) -> Path:
        return self.root / "policies"

    @property
    def stacks(self) -> Path:
        return self.root / "stacks"

    @property
    def cache(self) -> Path:
        """Everything that can be made again: jars, Pulumi, the sandbox and its state."""
        override = os.environ.get("TOPICWARDEN_CACHE")
        return Path(override).resolve() if override else self.root / ".cache"

    @property
    def spark_conf(self) -> Path:
        """What ``SPARK_CONF_DIR`` names: our sessions and those of spark-submit are configured alike."""
        return self.cache / "spark" / "conf"

    def stack_names(self) -> list[str]:
        """The stacks that have a settings file, sorted."""
        return sorted(path.name[len("Pulumi.") : -len(".yaml")] for path in self.stacks.glob("Pulumi.*.yaml"))


def find_project(start: Path | None = None) -> Project:
    """The project that ``start`` (default: the working directory) lies in; refuses where there is none."""
    here = Path(os.path.realpath(start or Path.cwd()))
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file() and (folder / "topics").is_dir():
            return Project(folder)
    raise Refusal(f"no project at {here} or above it: expected a folder with Pulumi.yaml and topics/; cd into it")
