"""Child processes that end together with the command that started them, even if it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

_running: Final[set[subprocess.Popen[str]]] = set()
_lock: Final = threading.Lock()
_GRACE_S: Final = ((signal.SIGINT, 10.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
"""The signals for a child, in order, and the seconds to wait after each.

On SIGINT Pulumi cancels its operation cleanly and ends its plug-ins.
"""
_MOST_S: Final = 20.0
"""The seconds from a SIGTERM to the end of the process; Kubernetes kills it after 30."""
_PR_SET_PDEATHSIG: Final = 1
_EXEC_WITH_DEATH_SIGNAL: Final = (
    f"import ctypes, os, sys; ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGINT)}); "
    "os.getppid() == int(sys.argv[1]) and os.execv(sys.argv[2], sys.argv[2:])"
)
"""A Python program that asks Linux for SIGINT when its parent dies, and then executes the command in its arguments.

``preexec_fn`` of ``subprocess`` would do the same, but is not safe with threads.
"""


def run(
    command: list[str],
    folder: Path,
    variables: Mapping[str, str],
    *,
    show: bool = False,
    on_line: Callable[[str], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``folder`` until it ends, with empty standard input, and return its output.

    With ``show``, the child writes to the standard output and error of this process instead. ``on_line`` gets each line
    of output and errors as it is written; both are then in the returned output. ``variables`` are the environment of
    the child. The child has its own process group: a Ctrl-C in a terminal does not reach it directly, but once, from
    ``ending_children``. On Linux it also receives SIGINT if this process is killed. Raises OSError if the command
    cannot be started.
    """
    output = None if show else subprocess.PIPE
    errors = subprocess.STDOUT if on_line else output
    child = subprocess.Popen(
        _with_death_signal(command),
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        text=True,
        process_group=0,
    )
    with _lock:
        _running.add(child)
    try:
        lines = list(_forwarded(child.stdout, on_line)) if on_line and child.stdout else []
        out, err = child.communicate()
    except BaseException:
        _end([child])  # now, while this process still answers its questions
        raise
    finally:
        with _lock:
            _running.discard(child)
    return subprocess.CompletedProcess(command, child.returncode, "".join(lines) or out, err or "")


def _forwarded(stream: IO[str], on_line: Callable[[str], None]) -> Iterator[str]:
    for line in stream:
        on_line(line)
        yield line


@contextmanager
def ending_children() -> Iterator[None]:
    """End all child processes that ``run`` started, in any thread, when the block ends.

    SIGTERM ends the block with exit code 143, within ``_MOST_S`` seconds. A second SIGTERM ends the process at once.
    """

    def on_term(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        last = threading.Timer(_MOST_S, os._exit, [128 + number])  # Spark waits for its tasks
        last.daemon = True
        last.start()
        sys.exit(128 + number)

    previous = signal.signal(signal.SIGTERM, on_term)
    try:
        yield
    finally:
        _end_running()
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver SIGINT and SIGTERM only after the block has ended. Use it for work that must not stop half-way.

    In other threads than the main thread this has no effect, because only the main thread receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[signal.Signals] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {
        number: signal.signal(number, lambda sent, _: received.append(signal.Signals(sent))) for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for number in received[:1]:
            signal.raise_signal(number)


def _end_running() -> None:
    with _lock:
        children = list(_running)
    _end(children)


def _end(children: Collection[subprocess.Popen[str]]) -> None:
    for number, seconds in _GRACE_S:
        alive = [child for child in children if child.poll() is None]
        for child in alive:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)
        for child in alive:
            with suppress(subprocess.TimeoutExpired):
                child.wait(seconds)


def _with_death_signal(command: list[str]) -> list[str]:
    """Return ``command`` so that it receives SIGINT when this process dies; unchanged on systems without prctl(2)."""
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", "-c", _EXEC_WITH_DEATH_SIGNAL, str(os.getpid()), *command]
