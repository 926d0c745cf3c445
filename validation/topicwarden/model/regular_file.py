"""Reads a file that people write: a regular file of a limited size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 1 << 20


class UnusableFile(OSError):
    """Raised for a path that is no regular file, or a file that is too large; ``strerror`` has the reason."""


def read_regular_file(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the contents of a file of at most ``most`` bytes.

    A pipe would block, and a device would never end. Raises ``OSError``.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableFile(0, "expected a regular file, got a device, pipe or socket")
        if status.st_size > most:
            raise UnusableFile(0, f"expected a file of at most {most} bytes, got {status.st_size}")
        return file.read(most)
