"""New files put into ``topics/``: all of them or none, and none over another."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal
from topicwarden.specs.write import NewFile

_STAGE: Final = ".importing"
"""Below ``topics/``: where files are made; the loader passes over names that begin with a dot."""
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
"""Why ``link`` fails on file systems without hard links, and between two of them."""


def place(topics: Path, files: Sequence[NewFile]) -> None:
    """Write ``files`` below ``topics``, in their order, never over another file; if one fails, none of them stays.

    A process that is killed leaves some of them, of which the next import takes what it finds for declared.
    """
    stage = topics / _STAGE
    placed: dict[Path, os.stat_result] = {}
    made: list[Path] = []
    with _alone(topics):
        try:
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir()
            for number, file in enumerate(files):
                (stage / str(number)).write_text(file.text, encoding="utf-8")
            for number, file in enumerate(files):
                target = topics / file.path
                for folder in reversed(target.parents):
                    if topics in folder.parents:
                        _make(folder, made)
                placed[target] = _appear(stage / str(number), target)
        except OSError as error:
            _undo(placed, made)
            where = error.filename or topics
            raise Refusal(f"nothing was imported, as {where} cannot be written: {error.strerror}") from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def _appear(staged: Path, target: Path) -> os.stat_result:
    """Give a finished file the name ``target`` and return its identity; ``FileExistsError`` if the name is taken.

    The system decides in one step, so that a file which appears meanwhile is never overwritten (``link(2)``).
    """
    try:
        try:
            os.link(staged, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _write(target, staged.read_bytes())
    except FileExistsError as error:
        message = "a file of this name appeared just now; import again"
        raise FileExistsError(errno.EEXIST, message, str(target)) from error
    return target.lstat()


def _write(target: Path, data: bytes) -> None:
    with target.open("xb") as stream:
        try:
            stream.write(data)
            stream.flush()
        except OSError:
            target.unlink()
            raise


def _undo(placed: dict[Path, os.stat_result], made: Sequence[Path]) -> None:
    """Remove what was written, but nothing that someone else has put in its place."""
    for target, written in placed.items():
        with suppress(OSError):
            if os.path.samestat(target.lstat(), written):
                target.unlink()
    for folder in reversed(made):
        with suppress(OSError):
            folder.rmdir()


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and add it to ``made``; do neither if there is one."""
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        made.append(folder)


@contextmanager
def _alone(topics: Path) -> Iterator[None]:
    """Lets one import at a time write; the system frees the lock of one that was killed."""
    handle = os.open(topics, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Refusal(f"another import is writing to {topics}: wait for it, then try again") from error
    finally:
        os.close(handle)
