"""`topicwarden watch`: audits until a signal ends it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final, TextIO

from topicwarden.audit.scan.lasting_session import kill_jvm
from topicwarden.cli.failure import line_for
from topicwarden.cli.silence import never_silent
from topicwarden.extensions.watch.watch_operation import watch_stacks
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import DURATION
from topicwarden.operations.operation_options import WatchOptions
from topicwarden.operations.progress_listener import ProgressListener
from topicwarden.report import terminal_output
from topicwarden.report.display import one_line

_MOST_S: Final = 9.0
"""The time from a signal to the end of the process, whatever it still waits for, in seconds."""


def watch(stacks: Sequence[str], options: WatchOptions, project_folder: Path | None = None) -> int:
    """Watch ``stacks`` until SIGTERM or SIGINT, and return the exit code. See ``operations.watch.watch_stacks``.

    A second signal ends the process at once. An audit that cannot finish in time is abandoned: the history keeps a part
    only after it is complete.
    """
    project = find_project(project_folder)
    lines = _Lines()
    with _signals() as received, never_silent("", moving=True):  # a watch waits between audits
        finished = watch_stacks(
            project,
            stacks,
            options,
            stopped=lambda: bool(received),
            details_of=_Details(),
            listener=lines,
        )
    if not finished:
        lines.warn("the running audit did not finish in time; the history does not contain it")
        _end_now()
    kill_jvm()  # it might still archive classes, which takes longer than a watch may
    return 0


def seconds_of(text: str, option: str) -> float:
    """Return the seconds in a duration such as ``5m``. Raises Refusal for another text."""
    try:
        return DURATION.parse(text) / 1000
    except ValueError as error:
        raise Refusal(f"{option}: {error}") from error


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Yield a list to which SIGTERM and SIGINT are appended during the block."""
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        last = threading.Timer(_MOST_S, _end_now)
        last.daemon = True
        last.start()

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _end_now() -> None:
    """End the process without waiting for its threads. Its JVM and its child processes end with it."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kill_jvm()
    os._exit(0)


class _Lines(ProgressListener):
    """Print one line for each audit, on standard error as it is now: it is redirected while Spark starts."""

    def __init__(self) -> None:
        try:
            self._stream: TextIO = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
        except (OSError, ValueError):  # a stream that is not a file
            self._stream = sys.stderr

    def note(self, line: str) -> None:
        if not terminal_output.VERBOSITY.quiet:
            self.warn(line)

    def warn(self, line: str) -> None:
        with suppress(OSError):  # a full disk, or a closed pipe
            print(terminal_output.without_commands(one_line(line)), file=self._stream, flush=True)


class _Details:
    """Write the traceback of an unexpected error to a log file, once for equal errors in a row."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None

    def __call__(self, error: Exception) -> str:
        summary = f"{type(error).__name__}: {error}"
        if self._last is None or self._last[0] != summary:
            self._last = (summary, line_for(error))
        return self._last[1]
