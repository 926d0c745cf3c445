"""The folders of the project that a command runs in, its git-ignored cache, and the cache of the user."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from topicwarden.model.problem import Refusal

CACHE = "TOPICWARDEN_CACHE"
"""The variable that overrides the folders of both caches."""

_CHECKOUT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Project:
    """A folder with a ``Pulumi.yaml``, and beside it ``topics/``, ``policies/``, ``stacks/``.

    Perhaps also ``access/`` and ``subjects/``.
    """

    root: Path

    @property
    def topics(self) -> Path:
        return self.root / "topics"

    @property
    def access(self) -> Path:
        return self.root / "access"

    @property
    def subjects(self) -> Path:
        return self.root / "subjects"

    @property
    def policies(self) -> Path:
        return self.root / "policies"

    @property
    def stacks(self) -> Path:
        return self.root / "stacks"

    @property
    def cache(self) -> Path:
        """The folder of this project's own data: its sandbox and the state of the sandbox's stacks, histories, logs."""
        return _override() or self.root / ".cache"

    @property
    def tools_cache(self) -> Path:
        """The folder of downloads, which all projects of a user share: jars, Pulumi, archives of loaded classes.

        ``.cache`` of the source checkout that this package runs from, else a folder in the user's cache.
        """
        return _override() or (_CHECKOUT / ".cache" if in_checkout() else _user_cache())

    @property
    def spark_conf(self) -> Path:
        """The folder for ``SPARK_CONF_DIR``. Our Spark sessions and spark-submit share this configuration."""
        return self.cache / "spark" / "conf"

    def stack_names(self) -> list[str]:
        """Return the names of the stacks that have a settings file, sorted; other names of files are no stacks."""
        names = (path.name[len("Pulumi.") : -len(".yaml")] for path in self.stacks.glob("Pulumi.*.yaml"))
        return sorted(filter(is_stack_name, names))


def user_project() -> Project:
    """Return the place of what a command keeps for a cluster that no project declares: a folder in the user's cache."""
    return Project(_user_cache() / "undeclared")


def is_stack_name(name: str) -> bool:
    """Return whether Pulumi accepts the name of a stack. It is also the name of folders, so not of dots only.

    Source: ``ParseStackName`` in Pulumi's ``sdk/go/common/tokens``.
    """
    return bool(re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name)) and name.strip(".") != ""


def find_project(start: Path | None = None) -> Project:
    """Return the project that contains ``start`` (default: the working directory).

    Raises Refusal if neither ``start`` nor a folder above it is a project.
    """
    origin = Path(os.path.realpath(start or Path.cwd()))
    for folder in (origin, *origin.parents):
        if (folder / "Pulumi.yaml").is_file() and (folder / "topics").is_dir():
            return Project(folder)
    raise Refusal(
        f"no project at {origin} or above it: expected a folder with Pulumi.yaml and topics/; "
        "cd into it, or write a new one with `topicwarden init`"
    )


def in_checkout() -> bool:
    """Return whether this package runs from a checkout of its repository, which has the sources of the Spark reader."""
    return (_CHECKOUT / "validation" / "spark-reader" / "pom.xml").is_file()


def _override() -> Path | None:
    override = os.environ.get(CACHE)
    return Path(override).resolve() if override else None


def _user_cache() -> Path:
    """Return the folder in the user's cache. Source: XDG Base Directory Specification; Apple's File System Basics."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    if Path(configured).is_absolute():
        return Path(configured, "topicwarden")
    try:
        home = Path.home()
    except RuntimeError as error:
        raise Refusal(f"the user has no home folder: set {CACHE} to a folder for downloads") from error
    return home.joinpath(*(("Library", "Caches") if sys.platform == "darwin" else (".cache",)), "topicwarden")
