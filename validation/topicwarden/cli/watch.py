"""`topicwarden watch`: audits until a signal ends it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, TextIO

import typer

from topicwarden.cli.failure import line_for
from topicwarden.cli.options import AllStacks, Rate, Stacks, project_option, read_limits, several_stacks, single_stack
from topicwarden.cli.terminal import never_silent
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import DURATION
from topicwarden.operations.operation_options import ProgressListener
from topicwarden.report import terminal_output
from topicwarden.report.display import one_line

app = typer.Typer()

_MOST_S: Final = 9.0
"""The time from a signal to the end of the process, whatever it still waits for, in seconds."""


@app.command(
    epilog="Example: topicwarden watch --stack dev --every 5m --listen 0.0.0.0:9464 --token-file /run/secrets/token"
    "\n\nAll stacks with one server: `topicwarden watch --all-stacks`. "
    "SIGTERM and Ctrl-C end it within ten seconds, with exit code 0."
)
def watch(
    context: typer.Context,
    stack: Stacks = None,
    *,
    every: Annotated[
        str,
        typer.Option("--every", metavar="TIME", help="The time from the start of an audit to the start of the next."),
    ] = "5m",
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="The address and port of the last report, /metrics, /report.json, /healthz and /readyz. An address "
            "that other machines can reach needs --token-file.",
        ),
    ] = "127.0.0.1:9464",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A file with the bearer token that clients must send. It is read for each request.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits: a path, or a URI such as s3a://bucket/history "
            "(default: topicwarden:history of the stack, else .cache/history/STACK). Only one watch can use it. Of "
            "several stacks, each has a folder below WHERE.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The address of this server for people: notifications link to the report there (default: --listen).",
            show_default=False,
        ),
    ] = None,
    rate: Rate = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master (default: local)."),
    ] = None,
    project: Annotated[
        Path | None,
        project_option("The folder of the project (default: this folder, or one above it)."),
    ] = None,
    all_stacks: AllStacks = False,
) -> int:
    """Audit what is new again and again, and serve metrics and the last report over HTTP. Only reads from Kafka."""
    several = several_stacks(stack, all_stacks)
    stacks = (single_stack(stack, context),) if several is None else several
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)
    from topicwarden.operations.operation_options import WatchOptions

    limits = read_limits(None, None, rate)
    options = WatchOptions(_seconds(every), listen, token_file, history, url, master, limits)
    from topicwarden.audit.scan.lasting_session import kill_jvm
    from topicwarden.extensions.watch.watch_operation import watch_stacks

    lines = _Lines()
    with _signals() as received, never_silent("", moving=True):  # a watch waits between audits
        finished = watch_stacks(
            find_project(project),
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


def _seconds(every: str) -> float:
    try:
        return DURATION.parse(every) / 1000
    except ValueError as error:
        raise Refusal(f"--every: {error}") from error


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
    from topicwarden.audit.scan.lasting_session import kill_jvm

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
