"""Let only one watch use a history: a lock that the operating system releases when the process ends."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from topicwarden.model.problem import Refusal
from topicwarden.model.timestamps import utc
from topicwarden.report.display import one_line

_NAME: Final = ".watch.lock"
_MOST_BYTES: Final = 4096
_ATTEMPTS: Final = 5
_PAUSE_S: Final = 0.1


class HistoryInUse(Refusal):
    """Raised if another watch, or another stack of this watch, uses the history."""


def lock_path(history: str, local_path: Path | None, cache: Path) -> Path:
    """Return the lock file of ``history``: in its folder ``local_path``, or in ``cache`` for a remote one."""
    if local_path is not None:
        return local_path / _NAME
    return cache / "watch" / f"{sha256(history.encode()).hexdigest()[:32]}.lock"


@contextmanager
def history_lock(path: Path, history: str) -> Iterator[None]:
    """Lock ``history`` with the file ``path`` for the block.

    Raises HistoryInUse, with the process, host and time of the other watch, if the history is locked, and Refusal if
    the file cannot be used. The file stays: if it were deleted, two processes could lock two files of the same name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(history, path, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HistoryInUse(_in_use(history, descriptor)) from None
        except OSError as error:
            raise _unusable(history, path, error) from error
        _replace(descriptor, _ours())
        yield
        _replace(descriptor, b"")
    finally:
        os.close(descriptor)


def _ours() -> bytes:
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": utc(int(time.time()) * 1000)}
    return json.dumps(holder).encode()


def _replace(descriptor: int, content: bytes) -> None:
    with suppress(OSError):  # a full disk does not unlock the file
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)


def _in_use(history: str, descriptor: int) -> str:
    """Return the message for a locked history, with its holder if that writes its name in time."""
    text = ""
    for _ in range(_ATTEMPTS):
        with suppress(ValueError, KeyError, TypeError, OverflowError, RecursionError):  # of any content
            holder = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
            pid, host = int(holder["pid"]), holder["host"]
            if (pid, host) == (os.getpid(), socket.gethostname()):
                return (
                    f"another watch uses the history {history}, or two stacks of this watch do: set "
                    "topicwarden:history of each stack to a folder of its own"
                )
            text = one_line(f": process {pid} on host {host}, since {holder['since']}")
            break
        time.sleep(_PAUSE_S)  # it has locked the file, and writes it now
    return f"another watch uses the history {history}{text}: stop it, or choose another history with --history"


def _unusable(history: str, path: Path, error: OSError) -> Refusal:
    return Refusal(f"the history {history} cannot be locked: {path}: {error.strerror}; a watch needs its own history")
