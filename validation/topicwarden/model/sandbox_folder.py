"""The folder of a sandbox, and the proof that it is not a copy of another sandbox, or a link to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal

STATE_FILE: Final = "state.json"
"""The saved state of the sandbox; its ``directory`` is the folder in which the brokers were started."""

ADDRESS_FILE: Final = "bootstrap-servers"
"""The addresses of the running brokers."""

REGISTRY_FILE: Final = "schema-registry"
"""The URL of the running Schema Registry."""


def refuse_link(folder: Path) -> None:
    """Refuse a folder that is a symbolic link, or that is below one in its project: it may be another project's."""
    for each in _up_to_project(folder):
        if each.is_symlink():
            raise Refusal(
                f"{each} is a link to {each.resolve()}, which may belong to another project: remove the link; "
                "to keep the cache in another folder, set TOPICWARDEN_CACHE"
            )


def _up_to_project(folder: Path) -> list[Path]:
    """Return ``folder`` and the folders above it in its project; only ``folder`` if it is outside of a project."""
    found = [folder, *folder.parents]
    below = [number for number, each in enumerate(found[:-1]) if (each.parent / "Pulumi.yaml").is_file()]
    return found[: below[0] + 1] if below else [folder]


def refuse_copy(folder: Path) -> None:
    """Refuse a folder that was copied together with its project: its state and addresses are the original's.

    A folder that was moved is accepted: the original has no sandbox any more.
    """
    original = _directory(folder / STATE_FILE)
    if original is None or original == folder.resolve() or not (original / STATE_FILE).is_file():
        return
    raise Refusal(
        f"{folder} is a copy of the sandbox in {original}, which keeps its brokers: `topicwarden sandbox down "
        "--remove` deletes the copy only, and `topicwarden sandbox up` then starts a new cluster"
    )


def sandbox_cluster(folder: Path) -> str | None:
    """Return Kafka's id of the cluster of the sandbox in ``folder``; None if the state file does not say."""
    return _saved(folder / STATE_FILE, "cluster_id")


def _directory(state_file: Path) -> Path | None:
    """Return the folder in which the brokers were started; None if the state file does not say."""
    directory = _saved(state_file, "directory")
    return None if directory is None else Path(directory)


def _saved(state_file: Path, name: str) -> str | None:
    try:
        state = json.loads(state_file.read_bytes())
    except (OSError, ValueError):
        return None
    value = state.get(name) if isinstance(state, dict) else None
    return value if isinstance(value, str) else None
