"""The address of a stack's history: what audits, usage reports and plans remember between runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from topicwarden.model.project import Project

NONE: Final = "none"
"""The value of ``--history`` and of ``topicwarden:history`` that turns the history off."""


def history_address(project: Project, stack: str, setting: object, option: str | None = None) -> str | None:
    """Return the URI of the history, without percent-encoding, or None for no history.

    An ``option`` of the command line is relative to the working directory; without one, the ``setting`` of the stack
    is relative to the project, as all settings are. Without both, the history is a folder in the project's cache.
    """
    if option is not None:
        return _address_of(option, Path.cwd())
    if setting is not None:
        return _address_of(str(setting), project.root)
    return local_address(project.cache / "history" / stack)


def history_below(option: str | None, stack: str) -> str | None:
    """Return ``option`` for one of several stacks: a folder of its own, because a history is about one cluster."""
    return option if option in (None, NONE) else f"{option.rstrip('/')}/{stack}"


def _address_of(location: str, base: Path) -> str | None:
    if location == NONE:
        return None
    return location if "://" in location else local_address(base / location)


def local_address(folder: Path) -> str:
    """Return the URI of a history in ``folder`` on this machine.

    As Hadoop reads it: a URI has no percent-encoding. An earlier version encoded the path, and so wrote to a folder
    with another name: that is the address as long as only that folder has a history.
    """
    path = folder.absolute()
    encoded = Path(path.as_uri().removeprefix("file://"))
    return f"file://{encoded if _has_history(encoded) and not _has_history(path) else path}"


def _has_history(folder: Path) -> bool:
    """Return whether there is the folder of any version of the format."""
    with suppress(OSError):
        return any(path.name.startswith("v") for path in folder.iterdir())
    return False
