"""`topicwarden rebalance`: move replicas to their target brokers."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli.options import Stack, Topics
from topicwarden.cli.terminal import TERMINAL, confirmed, require_terminal
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.report.terminal_output import write_line

if TYPE_CHECKING:
    from topicwarden.deploy.rebalance.reassignment import ReassignmentResult
    from topicwarden.deploy.rebalance.targets import Targets
    from topicwarden.deploy.rebalance.throttling import ThrottleRemoval
    from topicwarden.operations.rebalance import Rebalance

app = typer.Typer()

UNLIMITED = "unlimited"
DEFAULT_THROTTLE = "50MiB"


@dataclass(frozen=True)
class RebalanceOptions:
    """The command-line options besides the stack and the topics."""

    throttle: str | None
    dry_run: bool = False
    cancel: bool = False
    yes: bool = False
    refresh: bool = True


@app.command(
    epilog="Example: topicwarden rebalance --stack dev --topics 'orders.*' --throttle 20MiB\n\n"
    "After Ctrl-C or SIGTERM, the command starts no further moves and ends; Kafka continues the ongoing moves, "
    "throttled. Run the same command again to resume, also after a crash. Without --throttle, it keeps the throttle of "
    "the earlier run. It removes the throttle at the end."
)
def rebalance(
    stack: Stack,
    topics: Topics = None,
    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            metavar="BYTES",
            help="Bytes per second into and out of each broker, or unlimited. Must be above the write rate of the "
            "topics, or the moves never end. Default: that of an earlier run that it resumes, else "
            f"{DEFAULT_THROTTLE}.",
        ),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the moves.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel the ongoing moves, and remove the throttle; start no moves.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Move without confirmation.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh/--no-refresh", help="Refresh Pulumi's state afterwards.")] = True,
) -> int:
    """Move replicas to reach the declared replication factor, on live brokers, across all racks, with few moves.

    Removes replicas only from topics whose YAML allows reduce-replicas, until a date.
    """
    from topicwarden.operations.rebalance import rebalancing

    options = RebalanceOptions(throttle, dry_run, cancel, yes, refresh)
    rate = _rate(options.throttle or DEFAULT_THROTTLE)
    resuming = options.throttle is None and not options.cancel
    refreshing = options.refresh and not (options.dry_run or options.cancel)
    command = _command(stack, topics or (), options)
    stop = Event()
    with rebalancing(
        find_project(), stack, topics or (), rate=rate, resuming=resuming, refreshing=refreshing, listener=TERMINAL
    ) as operation:
        if operation.remark:
            write_line(operation.remark)
        if options.cancel:
            return _cancel(operation, stop, _again(command))
        return _move(operation, options, stop, command)


def _command(stack: str, topics: Sequence[str], options: RebalanceOptions) -> str:
    """Return the command that resumes this one."""
    parts = ["topicwarden", "rebalance", "--stack", stack]
    for glob in topics:
        parts += ["--topics", glob]
    if options.throttle is not None:
        parts += ["--throttle", options.throttle]
    return shlex.join(parts)


def _again(command: str) -> str:
    return f"run `{command}` again"


def _move(operation: Rebalance, options: RebalanceOptions, stop: Event, command: str) -> int:
    """Print the moves and, unless it is a dry run, carry them out; return the exit code."""
    again = _again(command)
    target = operation.targets()
    _show_targets(operation, target)
    code = 1 if target.placement.problems or target.placement.stuck else 0
    if options.dry_run:
        return code
    if target.placement.moves and not options.yes:
        require_terminal(f"{command} --dry-run")
        if not confirmed(f"Move {counted(len(target.placement.moves), 'partition')}?"):
            return code
    if target.placement.moves or target.under_way:
        outcome = _carry_out(operation, target, stop)
        if outcome.in_progress or outcome.not_started:
            return _show_stopped(outcome, operation.rate, again)
        code = max(_complete(operation, target, outcome, again), code)
    else:
        code = max(_show_released(operation.remove_throttle(), again, left_behind=True), code)
    if refreshed := operation.refresh_state():
        write_line(f"refreshed {counted(refreshed, 'topic')} in Pulumi's state")
    return code


def _show_targets(operation: Rebalance, target: Targets) -> None:
    from topicwarden.cli import replica_moves_text as shown
    from topicwarden.plan.consequence_text import shorten

    for reduction in target.reductions:
        if reduction.problem is None:
            write_line(reduction.message)
    for problem in target.placement.problems:
        write_line(str(problem))
    for stuck in target.placement.stuck:
        write_line(f"{stuck.topic}, partition {stuck.partition}: {stuck.reason}")
    if target.missing:
        names = shorten(target.missing)
        write_line(
            f"{counted(len(target.missing), 'topic')} not on the cluster, because no deploy has created it: {names}"
        )
    if target.under_way:
        write_line(f"already in progress: {counted(len(target.under_way), 'partition')}")
    if target.placement.moves:
        shown.show(target.placement.moves, operation.rate, kept=operation.keeps_rate)
    elif target.under_way:
        write_line(shown.throttle_text(operation.rate, kept=operation.keeps_rate))
    elif not (target.placement.problems or target.placement.stuck):
        write_line(f"nothing to move: {counted(len(operation.chosen) - len(target.missing), 'topic')} as declared")


def _carry_out(operation: Rebalance, target: Targets, stop: Event) -> ReassignmentResult:
    """Move the replicas until all moves have ended or ``stop`` is set, and print the refused moves."""
    from topicwarden.cli import replica_moves_text as shown

    with interruptible(stop), shown.watching(stop) as watch:
        outcome = operation.move(target, watch)
    for (topic, partition), reason in sorted(outcome.refused.items()):
        write_line(f"{topic}, partition {partition}: not moved: {reason}")
    return outcome


def _complete(operation: Rebalance, target: Targets, outcome: ReassignmentResult, again: str) -> int:
    """Elect the preferred leaders after all moves have ended, print the result, and return the exit code."""
    remaining = operation.complete(target)
    done = len(target.placement.moves) + len(target.under_way) - len(outcome.refused)
    write_line(f"moved: {counted(done, 'partition')}")
    if remaining and not outcome.refused:
        write_line(f"still not on the target brokers: {counted(len(remaining), 'partition')}; {again}")
    code = _show_released(outcome.released, again, left_behind=False)
    return 1 if remaining or outcome.refused else code


def _cancel(operation: Rebalance, stop: Event, again: str) -> int:
    """Cancel the ongoing moves of the selected topics, and return the exit code."""
    from topicwarden.cli import replica_moves_text as shown

    with interruptible(stop), shown.watching(stop) as watch:
        ongoing, outcome = operation.cancel(watch)
    for (topic, partition), reason in sorted(outcome.refused.items()):
        write_line(f"{topic}, partition {partition}: not cancelled: {reason}")
    write_line(f"cancelled: {counted(ongoing - len(outcome.refused) - outcome.in_progress, 'partition')}")
    return max(_show_released(outcome.released, again, left_behind=True), 1 if outcome.refused else 0)


def _show_stopped(outcome: ReassignmentResult, rate: int | None, again: str) -> int:
    """Print the state of the moves after an interrupt, and return the exit code."""
    if outcome.in_progress:
        throttled = "unthrottled" if rate is None else "throttled"
        started = f"{counted(outcome.in_progress, 'partition')} still moving, {throttled}"
        waiting = f"{counted(outcome.not_started, 'partition')} not started"
        write_line(f"stopped: {started}; {waiting}; {again}, or cancel the ongoing moves with --cancel")
    else:
        write_line(f"stopped: no partition is moving; {counted(outcome.not_started, 'partition')} not started")
    _show_released(outcome.released, again, left_behind=False)
    return 1


def _show_released(released: ThrottleRemoval, again: str, left_behind: bool) -> int:
    """Print which throttles were removed and which stay, and return the exit code."""
    from topicwarden.deploy.rebalance.throttling import remove_lists_command

    if left_behind and released.topics:
        brokers = ", ".join(map(str, released.brokers)) or "none"
        topics = ", ".join(released.topics)
        write_line(f"removed the replication throttle of an earlier run: brokers {brokers}; topics {topics}")
    for broker, reason in released.retained.items():
        write_line(f"broker {broker} may keep a replication throttle, because {reason}: {again} later")
    for broker, reason in released.rates_of_others.items():
        write_line(f"broker {broker} keeps a replication throttle that topicwarden did not set, {reason}")
    for topic in released.lists_of_others:
        write_line(
            f"{topic} keeps a throttle list that topicwarden did not write: if no other tool needs it, "
            f"remove it with `{remove_lists_command(topic)}`"
        )
    return 1 if released.retained else 0


def _rate(throttle: str) -> int | None:
    if throttle == UNLIMITED:
        return None
    try:
        rate = SIZE.parse(throttle)
    except ValueError as error:
        raise Refusal(f"--throttle: {error}, or {UNLIMITED}") from error
    if rate < 1:
        raise Refusal(f"--throttle {throttle}: expected at least 1 byte per second, or {UNLIMITED}")
    return rate


@contextmanager
def interruptible(stop: Event) -> Iterator[None]:
    """Set ``stop`` on the first Ctrl-C or SIGTERM within the block. A second signal ends the process as usual."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, _: object) -> None:
        signal.signal(number, previous[signal.Signals(number)])
        stop.set()

    for number in previous:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
