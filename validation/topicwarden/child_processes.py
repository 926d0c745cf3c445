"""Child processes that end when the command that started them ends, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_running: Final[set[subprocess.Popen[str]]] = set()
_lock: Final = threading.Lock()
_GRACE_S: Final = ((signal.SIGINT, 10.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
"""What a child is sent, and how long it may take: Pulumi cancels in order at SIGINT, and ends its own plug-ins."""
_PR_SET_PDEATHSIG: Final = 1
_TIED: Final = (
    f"import ctypes, os, sys; ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGINT)}); "
    "os.getppid() == int(sys.argv[1]) and os.execv(sys.argv[2], sys.argv[2:])"
)
"""Becomes another program that is interrupted when its parent dies. A ``preexec_fn`` is not safe beside threads."""


def run(
    command: list[str], folder: Path, variables: Mapping[str, str], *, show: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end, with nothing on standard input; ``show`` leaves its output on this process's own.

    The child has a process group of its own, so that Ctrl-C in a terminal reaches it once, from ``ending_children``.
    On Linux it is also interrupted if this process is killed. Raises OSError if it cannot be started.
    """
    output = None if show else subprocess.PIPE
    child = subprocess.Popen(
        _tied(command),
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        text=True,
        process_group=0,
    )
    with _lock:
        _running.add(child)
    try:
        out, err = child.communicate()
    finally:
        with _lock:
            _running.discard(child)
    return subprocess.CompletedProcess(command, child.returncode, out, err)


@contextmanager
def ending_children() -> Iterator[None]:
    """Ends what ``run`` has started, in whatever thread, when the block ends. SIGTERM ends the block, with code 143.

    A second SIGTERM ends the process at once.
    """

    def on_term(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    usual = signal.signal(signal.SIGTERM, on_term)
    try:
        yield
    finally:
        _end()
        signal.signal(signal.SIGTERM, usual)


@contextmanager
def signals_held() -> Iterator[None]:
    """Holds SIGINT and SIGTERM back until the block has ended, for what must not stop half-way.

    Changes nothing outside of the main thread, which alone receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[signal.Signals] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    usual = {number: signal.signal(number, lambda got, _: received.append(signal.Signals(got))) for number in numbers}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in received[:1]:
            signal.raise_signal(number)


def _end() -> None:
    for number, seconds in _GRACE_S:
        with _lock:
            children = [child for child in _running if child.poll() is None]
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)
        for child in children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(seconds)


def _tied(command: list[str]) -> list[str]:
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]
