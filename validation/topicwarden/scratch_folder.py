"""Temporary folders that only their user can read, and that are removed even after a ``kill -9``."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "topicwarden-scratch-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder in TMPDIR, and remove it when the context ends.

    A process holds a lock on each of its folders. The operating system releases it when the process is killed, so that
    the next command can remove the folder. Raises OSError if TMPDIR cannot be written.
    """
    _remove_abandoned()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with suppress(FileNotFoundError):  # another process found the folder before it was locked, and removed it
            descriptor = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # a file system without locks: no other process can lock the folder either
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            if folder.exists():
                break
            os.close(descriptor)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@functools.cache  # once in each process
def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # in use, of another user, or gone
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.getuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
