"""Write new files into ``topics/`` and ``access/``: either all or none, and never over an existing file."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal
from topicwarden.specs.write import TOPICS, NewFile

_STAGING_FOLDER: Final = ".importing"
"""The folder below ``topics/`` for incomplete files. The loader skips names that begin with a dot."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
"""Errors of ``link`` on file systems without hard links, and across file systems."""


def write_files(topics: Path, files: Sequence[NewFile]) -> None:
    """Write ``files`` into ``topics`` and the folders beside it, in their order. Raise Refusal if one fails, and remove
    the others.

    A killed process can leave some of the files. The next import treats their topics as declared, and removes the
    folder of incomplete files, also if it has nothing to write.
    """
    staging = topics / _STAGING_FOLDER
    if not files and not staging.exists():
        return
    written_files: dict[Path, os.stat_result] = {}
    created_folders: list[Path] = []
    with _exclusive_lock(topics):
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            for index, file in enumerate(files):
                (staging / str(index)).write_text(file.text, encoding="utf-8")
            for index, file in enumerate(files):
                base = topics if file.folder == TOPICS else topics.parent / file.folder
                target = base / file.path
                for folder in reversed(target.parents):
                    if topics.parent in folder.parents and folder != topics:
                        _create_folder(folder, created_folders)
                written_files[target] = _publish(staging / str(index), target)
        except OSError as error:
            _undo(written_files, created_folders)
            unwritable = error.filename or topics
            raise Refusal(f"nothing was imported, because {unwritable} cannot be written: {error.strerror}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def free_name(folder: Path) -> str:
    """Return the name of a new file in ``folder`` for what an import writes."""
    names = chain(["imported.yaml"], (f"imported-{number}.yaml" for number in count(2)))
    return next(name for name in names if not (folder / name).exists())


def _publish(staged_file: Path, target: Path) -> os.stat_result:
    """Link a complete file to ``target`` and return its identity. Raise FileExistsError if ``target`` exists.

    ``link(2)`` is atomic, so a file that another process creates at the same time is never overwritten.
    """
    try:
        try:
            os.link(staged_file, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _write_new(target, staged_file.read_bytes())
    except FileExistsError as error:
        message = "another process has just created this file; import again"
        raise FileExistsError(errno.EEXIST, message, str(target)) from error
    return target.lstat()


def _write_new(target: Path, data: bytes) -> None:
    with target.open("xb") as stream:
        try:
            stream.write(data)
            stream.flush()
        except OSError:
            target.unlink()
            raise


def _undo(written_files: dict[Path, os.stat_result], created_folders: Sequence[Path]) -> None:
    """Remove the written files, except those that another process has replaced, and the created folders."""
    for target, identity in written_files.items():
        with suppress(OSError):
            if os.path.samestat(target.lstat(), identity):
                target.unlink()
    for folder in reversed(created_folders):
        with suppress(OSError):
            folder.rmdir()


def _create_folder(folder: Path, created_folders: list[Path]) -> None:
    """Create a folder and add it to ``created_folders``, unless it exists."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        created_folders.append(folder)


@contextmanager
def _exclusive_lock(topics: Path) -> Iterator[None]:
    """Hold a lock so that only one import writes. The operating system releases the lock of a killed process."""
    descriptor = os.open(topics, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Refusal(f"another import is writing to {topics}: wait until it ends, then try again") from error
    finally:
        os.close(descriptor)
