"""Repairs what a killed ``pulumi`` leaves in a file backend, and what no command of Pulumi can read again.

The backend writes a state's attributes (``dev.json.attrs``) in place, after it has emptied the file (gocloud,
``blob/fileblob/attrs.go``). If ``pulumi`` is killed in between, every later command fails with "failed to load
checkpoint: EOF". The state itself is complete, because its file is replaced at once. The attributes are its content
type and checksum, and may be missing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.model.project import Project

_LIVE_WRITE_S: Final = 5.0  # a running `pulumi` fills the file within milliseconds


def remove_empty_attributes(project: Project, stack: str, backend: str) -> Path | None:
    """Remove the emptied attributes of the state of ``stack``, and return their file; None if there is nothing to do.

    ``backend`` is the URL of the backend. Only ``file://`` has such files.
    """
    if not backend.startswith("file://"):
        return None
    root = Path(unquote(urlparse(backend).path)).expanduser()
    states = root / ".pulumi" / "stacks" / str(project_settings(project).get("name"))
    for attributes in states.glob(f"{stack.rpartition('/')[2]}.json*.attrs"):
        status = attributes.stat()
        if status.st_size == 0 and time.time() - status.st_mtime > _LIVE_WRITE_S:
            attributes.unlink(missing_ok=True)
            return attributes
    return None
