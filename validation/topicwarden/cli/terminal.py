"""Show what a command works on, and ask before it changes something."""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from topicwarden.model.problem import Refusal
from topicwarden.operations.progress_listener import ProgressListener, ShareReport
from topicwarden.report.display import duration
from topicwarden.report.terminal_output import VERBOSITY, note

LINE_INTERVAL_S = 10.0
"""The time between two lines of progress if standard error is not a terminal."""


class TerminalProgress(ProgressListener):
    """Show the progress of an operation on standard error."""

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        with waiting(status, then) as report:
            yield report

    def note(self, line: str) -> None:
        note(line)

    def warn(self, line: str) -> None:
        print_wrapped(line)


TERMINAL: Final = TerminalProgress()


@contextmanager
def waiting(status: str, then: str = "") -> Iterator[ShareReport]:
    """Show that the block works on ``status``: a bar on a terminal, else a line every ten seconds.

    Yields a function that reports the share that is done. Without reports, only the elapsed time is shown. Once the
    share is 1, the block works on ``then``, if there is such work.
    """
    console = Console(stderr=True)
    if VERBOSITY.quiet:
        yield lambda share: None
    elif console.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
            task = progress.add_task(status, total=None)

            def show(share: float) -> None:
                if then and share >= 1.0:
                    progress.update(task, description=then, total=None)
                else:
                    progress.update(task, total=1.0, completed=share)

            yield show
    else:
        with _lines(status, then) as report:
            yield report


@contextmanager
def _lines(status: str, then: str) -> Iterator[ShareReport]:
    latest: float | None = None
    ended, started = threading.Event(), time.monotonic()

    def write() -> None:
        while not ended.wait(LINE_INTERVAL_S):
            elapsed = duration(1000 * round(time.monotonic() - started))
            if then and latest is not None and latest >= 1.0:
                note(f"{then}: {elapsed} in all")
            else:
                note(f"{status}: {'' if latest is None else f'{latest:.0%} after '}{elapsed}")

    def report(share: float) -> None:
        nonlocal latest
        latest = share

    thread = threading.Thread(target=write, name="progress-lines", daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()


def print_wrapped(line: str) -> None:
    """Print a line for people on standard error, also if the command is quiet; wrap it between words on a terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr, flush=True)


def engine_output() -> Callable[[str], None]:
    """Return a function that prints a line of `pulumi` while it runs, without dots that only show that it runs.

    The lines go to the standard output as it is now: it is redirected while a program may run.
    """
    out = sys.stdout

    def show(line: str) -> None:
        if line.strip(" .\n") and not line.startswith("@ "):
            out.write(line)
            out.flush()

    return show


def require_terminal(instead: str) -> None:
    """Refuse if nobody can confirm. ``instead`` is what shows the changes without making them."""
    if not sys.stdin.isatty():
        raise Refusal(f"no terminal to confirm on: pass --yes, or show the changes with `{instead}`")


def confirmed(question: str) -> bool:
    """Return whether the user answers ``question`` with yes."""
    return typer.confirm(question)
