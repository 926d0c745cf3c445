"""Child processes that end together with the command that started them, even if it is killed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Final

_running: Final[set[subprocess.Popen[bytes]]] = set()
_lock: Final = threading.Lock()
_GRACE_S: Final = ((signal.SIGINT, 10.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
"""The signals for a child, in order, and the seconds to wait after each.

On SIGINT Pulumi cancels its operation cleanly and ends its plug-ins.
"""
_MOST_S: Final = 20.0
"""The seconds from a SIGTERM to the end of the process; Kubernetes kills it after 30."""
_POLL_S: Final = 0.05
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
    death_signal: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``folder`` until it ends, with empty standard input, and return its output.

    With ``show``, the child writes to the standard output and error of this process instead. ``on_line`` gets each line
    of output and errors as it is written, also what the child writes while a signal ends it; both are then in the
    returned output. ``variables`` are the environment of
    the child. The child has its own process group: a Ctrl-C in a terminal does not reach it directly, but once, from
    ``ending_children``. If this process is killed, the child can still write its output. On Linux it then receives
    SIGINT, unless ``death_signal`` is false. Raises OSError if the command cannot be started.
    """
    with _output_file() as output, _output_file() as errors:
        child = _start(
            command,
            folder,
            variables,
            stdout=None if show else output,
            stderr=subprocess.STDOUT if on_line else None if show else errors,
            death_signal=death_signal,
        )
        passed_on = 0
        try:
            if on_line:
                for line in _lines_until_end(child, output):
                    on_line(line)
                    passed_on += 1
            child.wait()
        except BaseException:
            try:
                _end([child])  # now, while this process still answers its questions
            finally:
                if on_line:
                    for line in islice(_text(_read(output, 0)), passed_on, None):
                        with suppress(OSError):  # the signal may have ended the reader of the output, too
                            on_line(line)
            raise
        finally:
            with _lock:
                _running.discard(child)
        texts = ("".join(_text(_read(file, 0))) for file in (output, errors))
        return subprocess.CompletedProcess(command, child.returncode, *texts)


@contextmanager
def running(
    command: list[str], folder: Path, variables: Mapping[str, str], output: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``command`` in ``folder`` during the block, with its output and errors in the file ``output``; then end it.

    The rest is as in ``run``. Raises OSError if the command cannot be started.
    """
    with output.open("wb") as file:
        child = _start(command, folder, variables, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield child
    finally:
        _end([child])
        with _lock:
            _running.discard(child)


def _start(
    command: list[str],
    folder: Path,
    variables: Mapping[str, str],
    stdout: IO[bytes] | None,
    stderr: IO[bytes] | int | None,
    *,
    death_signal: bool = True,
) -> subprocess.Popen[bytes]:
    program, *arguments = command
    # A relative entry of PATH is one of the folder of this process.
    started = [str(Path(program).absolute()) if os.sep in program else program, *arguments]
    child = subprocess.Popen(
        _with_death_signal(started) if death_signal else started,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        process_group=0,
    )
    with _lock:
        _running.add(child)
    return child


def _output_file() -> IO[bytes]:
    """Return a file without a name, on Linux in memory.

    A pipe breaks when this process is killed. Its next writer is then killed by SIGPIPE: Go, so Pulumi, does not ignore
    this signal for its standard output, and has possibly not finished writing its state.
    """
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("output"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _lines_until_end(child: subprocess.Popen[bytes], output: IO[bytes]) -> Iterator[str]:
    """Yield each line that ``child`` writes to ``output``, as it is written, until the child has ended."""
    position, ended = 0, False
    while not ended:
        with suppress(subprocess.TimeoutExpired):
            child.wait(_POLL_S)
            ended = True
        written = _read(output, position)
        lines = written if ended else written[: written.rfind(b"\n") + 1]
        position += len(lines)
        yield from _text(lines)


def _read(file: IO[bytes], position: int) -> bytes:
    """Return the content of ``file`` from ``position`` on. Its offset, which belongs to the writer, does not change."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size - position, position)


def _text(output: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(output), encoding="utf-8", errors="replace")


@contextmanager
def ending_children() -> Iterator[None]:
    """End all child processes that this module started, in any thread, when the block ends.

    SIGTERM ends the block with exit code 143, within ``_MOST_S`` seconds. A second SIGTERM ends the process at once. If
    the process has a handler for SIGTERM, that one stays.
    """

    def on_term(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        last = threading.Timer(_MOST_S, os._exit, [128 + number])  # Spark waits for its tasks
        last.daemon = True
        last.start()
        sys.exit(128 + number)

    previous = signal.getsignal(signal.SIGTERM)
    if previous is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, on_term)
    try:
        yield
    finally:
        _end_running()
        signal.signal(signal.SIGTERM, previous)


def ended_by_signal(error: BaseException | None) -> int | None:
    """Return the exit code of a process that a signal ended; None if ``error`` has another cause.

    A signal may interrupt a library half-way, which then fails while it is closed.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return 128 + signal.SIGINT
        if isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM:
            return 128 + signal.SIGTERM
        error = error.__context__
    return None


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


def _end(children: Collection[subprocess.Popen[bytes]]) -> None:
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
