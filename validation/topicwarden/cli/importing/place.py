"""New files put into ``topics/``: all of them or none, and none over another."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from topicwarden.problem import Refusal
from topicwarden.specs.write import NewFile

_STAGE: Final = ".importing"
"""Below ``topics/``: where files are made; the loader passes over names that begin with a dot."""


def place(topics: Path, files: Sequence[NewFile]) -> None:
    """Writes ``files`` below ``topics``, in their order, each whole or not at all; on a failure, none of them stays.

    A process that is killed leaves some of them, of which the next import takes what it finds for declared.
    """
    stage = topics / _STAGE
    placed: list[Path] = []
    made: list[Path] = []
    with _alone(topics):
        try:
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir()
            for number, file in enumerate(files):
                (stage / str(number)).write_text(file.text, encoding="utf-8")
            for number, file in enumerate(files):
                target = topics / file.path
                made += [folder for folder in reversed(target.parents) if topics in folder.parents and _make(folder)]
                if os.path.lexists(target):
                    raise FileExistsError(0, "a file of this name came into being just now", str(target))
                (stage / str(number)).rename(target)
                placed.append(target)
        except OSError as error:
            for target in placed:
                target.unlink(missing_ok=True)
            for folder in reversed(made):
                folder.rmdir()
            where = error.filename2 or error.filename or topics
            raise Refusal(f"nothing was imported, as {where} cannot be written: {error.strerror}") from error
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def _make(folder: Path) -> bool:
    if folder.is_dir():
        return False
    folder.mkdir()
    return True


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
