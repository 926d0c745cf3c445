"""Text output of replica moves, before and during the reassignment."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from topicwarden.cli.terminal import LINE_INTERVAL_S, print_wrapped
from topicwarden.deploy.rebalance.reassignment import ReassignmentProgress as Step
from topicwarden.deploy.rebalance.reassignment import Watch
from topicwarden.model.message_text import counted, counted_more, share
from topicwarden.plan.placement.durability import received, seconds
from topicwarden.plan.placement.replica_placement import ReplicaMove
from topicwarden.report import terminal_output
from topicwarden.report.display import duration, size
from topicwarden.report.terminal_output import VERBOSITY, is_capable_terminal, note

_MAX_ROWS = 50


def throttle_text(rate: int | None, *, kept: bool) -> str:
    """Return the throttle, ``rate`` in bytes per second. ``kept``: an earlier run has set it."""
    if rate is None:
        return "throttle: none; brokers copy at full speed"
    origin = ", as an earlier run set it (--throttle changes it)" if kept else ""
    return f"throttle: {size(rate)} per second into and out of each broker{origin}"


def show(moves: Sequence[ReplicaMove], rate: int | None, *, kept: bool) -> None:
    """Print the moves, one row for each partition, then the bytes for each broker, and the estimated duration.

    ``rate`` is the throttle in bytes per second; None for no throttle. ``kept``: an earlier run has set it. Prints at
    most 50 rows.
    """
    table = Table("topic", "partition", "replicas", "", "bytes to copy", box=None, pad_edge=False)
    for move in moves[:_MAX_ROWS]:
        replicas = [" ".join(map(str, brokers)) for brokers in (move.before, move.after)]
        table.add_row(move.topic, str(move.partition), replicas[0], f"→ {replicas[1]}", size(move.bytes_to_copy))
    terminal_output.console().print(table)
    if len(moves) > _MAX_ROWS:
        print(f"… and {counted_more(len(moves) - _MAX_ROWS, 'partition')}")
    by_broker = ", ".join(f"broker {broker} {size(amount)}" for broker, amount in received(moves).items())
    print(f"to copy: {size(sum(move.bytes_to_copy or 0 for move in moves))}{f' ({by_broker})' if by_broker else ''}")
    if unknown := sum(move.bytes_to_copy is None for move in moves):
        print(f"not counted: {counted(unknown, 'partition')} whose size the brokers do not report")
    at_least = 0.0 if rate is None else seconds(moves, rate)
    print(throttle_text(rate, kept=kept) + (f"; duration: at least {duration(1000 * at_least)}" if at_least else ""))


@contextmanager
def watching(stop: Event) -> Iterator[Watch]:
    """Yield callbacks that show progress on standard error: a bar on a terminal, else a line every ten seconds.

    ``stop`` is passed on: the reassignment stops waiting when it is set.
    """
    console, moving = Console(stderr=True), is_capable_terminal(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True))
    with Progress(
        *columns,
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=VERBOSITY.quiet or not moving,
    ) as bar:
        task = bar.add_task("moving", total=None)
        last_line_at = time.monotonic()

        def progress(step: Step) -> None:
            nonlocal last_line_at
            moved = f"moved {share(step.partitions, step.of_partitions, 'partition')}"
            bar.update(task, description=moved, completed=step.log_bytes, total=step.of_bytes)
            if not moving and time.monotonic() - last_line_at >= LINE_INTERVAL_S:
                last_line_at = time.monotonic()
                note(f"{moved}, {size(step.log_bytes)} of {size(step.of_bytes)}")

        def say(line: str) -> None:
            if moving:
                bar.console.print(line, markup=False, highlight=False)
            else:
                print_wrapped(line)

        yield Watch(progress, say, stop)
