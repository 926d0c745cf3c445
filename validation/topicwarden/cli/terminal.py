"""Show what a command works on, and ask before it changes something.

If a command has printed nothing for some seconds, a line on standard error says what it works on. Only this module
writes such lines: around each command, and for each stage of its operation.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TextIO

from topicwarden.model.problem import Refusal
from topicwarden.operations.operation_options import ProgressListener, ShareReport
from topicwarden.report.display import duration
from topicwarden.report.terminal_output import VERBOSITY, is_capable_terminal, note, open_output, without_commands


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


_RESOURCE: Final = re.compile(r"(?<=\bkafka:index:)(\w+) (\S+)")
_NO_NEWS: Final = re.compile(
    r"@ |(?:Updating|Destroying|Refreshing) \(|\s*(?:pulumi:|topicwarden:index:)\S+ \S+\s*$|"
    r"[-+~\s]*pulumi:pulumi:Stack \S+ [^:]*\berror: |"
    r"\s*[-+~]{1,2}\s+(?:"
    r"(?:pulumi:|topicwarden:index:)\S+ \S+ (?:created|updated|deleted)\b|"
    r"\S+ \S+ (?:creating|updating|deleting)[\s.]*(?:\(\d+s\))?\s*(?:\[diff: [^]]*\])?\s*$)"
)
"""Lines of `pulumi` about its own work; one that ends with a message of the provider is none.

An error of the program is one, too: `pulumi` repeats it as a whole below ``Diagnostics:``.
"""

TERMINAL: Final = TerminalProgress()


@contextmanager
def waiting(status: str, then: str = "") -> Iterator[ShareReport]:
    """Show that the block works on ``status``: a bar on a terminal, else a line at least every ten seconds.

    Yields a function that reports the share that is done. Without reports, only the elapsed time is shown. Once the
    share is 1, the block works on ``then``, if there is such work.
    """
    with progress_stream() as stream:
        if VERBOSITY.quiet or not is_capable_terminal(stream):
            with never_silent(status, then) as report:
                yield report
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        console = Console(file=stream)
        with (
            never_silent(status, moving=True),
            Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress,
        ):
            task = progress.add_task(status, total=None)

            def show(share: float) -> None:
                if then and share >= 1.0:
                    progress.update(task, description=then, total=None)
                else:
                    progress.update(task, total=1.0, completed=share)

            yield show


def print_wrapped(line: str) -> None:
    """Print a line for people on standard error, also if the command is quiet; wrap it between words on a terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(without_commands(line), file=sys.stderr, flush=True)
    VERBOSITY.last_output = time.monotonic()


def engine_output(titles: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], None]:
    """Return a function that prints a line of `pulumi` while it runs: each change that it has made, errors, the result.

    ``titles`` says by name what a resource is, if its name is a hash. Lines that only show that it runs, or that are
    about groups of resources, are left out.
    The lines go to the standard output as it is now: it is redirected while a program may run.
    """
    out = sys.stdout

    def show(line: str) -> None:
        if line.strip(" .\n") and not _NO_NEWS.match(line):
            named = _RESOURCE.sub(lambda found: f"{found[1]} {titles.get(found[2], found[2])}", line, count=1)
            out.write(without_commands(named))
            out.flush()
            VERBOSITY.last_output = time.monotonic()

    return show


def require_terminal(instead: str = "") -> None:
    """Refuse if nobody can confirm. ``instead`` shows the changes without making them, if they are not shown yet."""
    if not sys.stdin.isatty():
        other = f", or show the changes with `{instead}`" if instead else ""
        raise Refusal(f"no terminal to confirm on: pass --yes{other}")


def confirmed(question: str) -> bool:
    """Return whether the user answers ``question`` with yes. The end of the input is a no, and Ctrl-C an interrupt."""
    answers = {"y": True, "yes": True, "n": False, "no": False, "": False}
    with never_silent("", moving=True):  # nothing is late while the user thinks
        while True:
            try:
                answer = input(f"{question} [y/N]: ").strip().lower()
            except EOFError:
                print()
                return False
            if answer in answers:
                return answers[answer]
            print("expected y or n")


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

    Only the innermost of such blocks writes lines. The rest is as in ``waiting``.
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
