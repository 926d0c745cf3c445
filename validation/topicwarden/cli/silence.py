"""Say what a command works on if it has printed nothing for some seconds, on standard error.

This is the only place that writes such lines: around each command, and for each stage of its operation.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TextIO

from topicwarden.operations.operation_options import ShareReport
from topicwarden.report.display import duration
from topicwarden.report.terminal_output import VERBOSITY, open_output, without_commands

LINE_INTERVAL_S = 9.0
"""The longest time without output."""


@dataclass(eq=False)
class _Stage:
    """Work of a command. ``moving``: something else shows its progress, or it waits for the user."""

    status: str
    then: str
    moving: bool
    share: float | None = None
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        elapsed = duration(1000 * round(time.monotonic() - self.began))
        if self.then and self.share is not None and self.share >= 1.0:
            return f"{self.then}: {elapsed} in all"
        return f"{self.status}: {'' if self.share is None else f'{self.share:.0%} after '}{elapsed}"


_stages: list[_Stage] = []
"""The stages that are not over, the innermost last."""


@contextmanager
def never_silent(status: str, then: str = "", *, moving: bool = False) -> Iterator[ShareReport]:
    """Write a line about ``status`` whenever the block has printed nothing for ``LINE_INTERVAL_S`` seconds.

    Only the innermost of such blocks writes lines. The rest is as in ``cli.terminal.waiting``.
    """
    stage = _Stage(status, then, moving)
    _stages.append(stage)

    def report(share: float) -> None:
        stage.share = share

    with _writing_lines() if len(_stages) == 1 and not VERBOSITY.quiet else nullcontext():
        try:
            yield report
        finally:
            _stages.remove(stage)


@contextmanager
def progress_stream() -> Iterator[TextIO]:
    """Yield standard error as it is now: it is redirected while Spark starts, and while a program of Pulumi runs."""
    with ExitStack() as resources:
        stream = sys.stderr
        with suppress(OSError, ValueError):  # a stream that is not a file
            stream = resources.enter_context(open_output(os.dup(sys.stderr.fileno())))
        yield stream


@contextmanager
def _writing_lines() -> Iterator[None]:
    ended = threading.Event()
    VERBOSITY.last_output = time.monotonic()
    with progress_stream() as stream:
        thread = threading.Thread(target=_write_lines, args=(stream, ended), name="progress-lines", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _write_lines(stream: TextIO, ended: threading.Event) -> None:
    while not ended.wait(max(0.01, VERBOSITY.last_output + LINE_INTERVAL_S - time.monotonic())):
        if time.monotonic() - VERBOSITY.last_output < LINE_INTERVAL_S:
            continue
        VERBOSITY.last_output = time.monotonic()
        stage = _stages[-1] if _stages else None
        if stage is not None and not stage.moving and not VERBOSITY.quiet:
            with suppress(OSError):  # the disk is full
                stream.write(f"{without_commands(stage.line())}\n")
                stream.flush()
