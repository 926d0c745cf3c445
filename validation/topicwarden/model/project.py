"""The folders of the project that a command runs in, and its git-ignored cache."""

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
        """The folder of everything that can be recreated: jars, Pulumi, the sandbox and its state.

        The environment variable ``TOPICWARDEN_CACHE`` overrides it.
        """
        override = os.environ.get("TOPICWARDEN_CACHE")
        return Path(override).resolve() if override else self.root / ".cache"

    @property
    def spark_conf(self) -> Path:
        """The folder for ``SPARK_CONF_DIR``. Our Spark sessions and spark-submit share this configuration."""
        return self.cache / "spark" / "conf"

    def stack_names(self) -> list[str]:
        """Return the names of the stacks that have a settings file, sorted."""
        return sorted(path.name[len("Pulumi.") : -len(".yaml")] for path in self.stacks.glob("Pulumi.*.yaml"))


def find_project(start: Path | None = None) -> Project:
    """Return the project that contains ``start`` (default: the working directory).

    Raises Refusal if neither ``start`` nor a folder above it is a project.
    """
    origin = Path(os.path.realpath(start or Path.cwd()))
    for folder in (origin, *origin.parents):
        if (folder / "Pulumi.yaml").is_file() and (folder / "topics").is_dir():
            return Project(folder)
    raise Refusal(f"no project at {origin} or above it: expected a folder with Pulumi.yaml and topics/; cd into it")
