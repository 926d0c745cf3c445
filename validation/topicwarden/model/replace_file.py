"""Replace a file in one step, so that no reader sees an incomplete file."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, contents: str | bytes, mode: int | None = None) -> Path:
    """Write ``contents`` to ``path`` and return it; ``mode`` has the permissions, by default those of a new file.

    Text is written as UTF-8. The name of the draft begins with a dot, which the loader of specs ignores.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
