"""Read files that people write, and replace files in one step, so that no reader sees an incomplete file."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from topicwarden.model.message_text import counted
from topicwarden.model.units import SIZE

MAX_BYTES: Final = 1 << 20
_LONGEST_NAME: Final = 255
"""The most bytes of a file name on Linux and macOS. A topic name can have 249."""
_NUMBER_ROOM: Final = 12


class UnusableFile(OSError):
    """Raised for a path that is no regular file, or a file that is too large; ``strerror`` has the reason."""


def read_regular_file(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the contents of a file of at most ``most`` bytes.

    A pipe would block, and a device would never end. Raises ``OSError`` with ``path``.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnusableFile(0, "expected a regular file, got a device, pipe or socket")
            if status.st_size > most:
                raise UnusableFile(
                    0, f"expected a file of at most {SIZE.text(most)}, got {counted(status.st_size, 'byte')}"
                )
            return file.read(most)
    except OSError as error:
        error.filename = os.fspath(path)  # not the descriptor of a folder
        raise


def fitting_stem(stem: str, suffix: str) -> str:
    """Return ``stem``, shortened to a unique text if the name of a file with it and ``suffix`` would be too long.

    There is room for a dot and a number, too.
    """
    most = _LONGEST_NAME - len(suffix) - _NUMBER_ROOM
    if len(stem.encode()) <= most:
        return stem
    digest = sha256(stem.encode()).hexdigest()[:12]
    return f"{stem.encode()[: most - len(digest) - 1].decode(errors='ignore')}-{digest}"


def replace_file(path: Path, contents: str | bytes, mode: int | None = None) -> Path:
    """Write ``contents`` to ``path`` and return it; ``mode`` has the permissions, by default those of a new file.

    Text is written as UTF-8. The name of the draft begins with a dot, which the loader of specs ignores. Raises OSError
    with ``path``, also if the draft cannot be written.
    """
    draft = path.with_name(f".{fitting_stem(path.name, '.tmp')}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None  # nobody knows the draft
        raise
    finally:
        with suppress(OSError):
            draft.unlink()
    return path
