"""Repairs what a killed ``pulumi`` or a full disk leaves in a file backend, and no command of Pulumi can read again.

The backend writes a state's attributes (``dev.json.attrs``) in place, after it has emptied the file (gocloud,
``blob/fileblob/attrs.go``). If ``pulumi`` is killed in between, every later command fails with "failed to load
checkpoint: EOF". The state itself is complete, because its file is replaced at once. The attributes are its content
type and checksum, and may be missing.

A lock is first written to a temporary file in the folder of the locks. If the disk is full, or ``pulumi`` is killed,
this file stays, and every later command takes it for a lock: "unexpected end of JSON input". Its writer holds no lock.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.model.project import Project

_LIVE_WRITE_S: Final = 5.0  # a running `pulumi` fills the file within milliseconds


def remove_broken_files(project: Project, stack: str, backend: str) -> list[Path]:
    """Remove the emptied attributes and the unfinished locks of ``stack``, and return their files.

    ``backend`` is the URL of the backend. Only ``file://`` has such files.
    """
    if not backend.startswith("file://"):
        return []
    root = Path(unquote(urlparse(backend).path)).expanduser() / ".pulumi"
    owner, name = str(project_settings(project).get("name")), stack.rpartition("/")[2]
    attributes = (root / "stacks" / owner).glob(f"{name}.json*.attrs")
    unfinished = frozenset((root / "locks" / "organization" / owner / name).glob("*.json.*.tmp"))
    removed = []
    for file in (*attributes, *unfinished):
        with suppress(FileNotFoundError):  # a running `pulumi` has replaced or renamed it
            status = file.stat()
            broken = file in unfinished or status.st_size == 0
            if broken and time.time() - status.st_mtime > _LIVE_WRITE_S:
                file.unlink()
                removed.append(file)
    return removed
