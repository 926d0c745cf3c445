"""Run an operation on several stacks, one after another. A stack on which it fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from topicwarden.model.fleet_report import COULD_NOT_RUN, StackOutcome
from topicwarden.model.project import Project
from topicwarden.operations.progress_listener import SILENT, ProgressListener, ShareReport
from topicwarden.specs.stacks.stack_selection import selected_stacks


def fleet_stacks(project: Project, stacks: Sequence[str] = ()) -> list[str]:
    """Return ``stacks`` in their order, each once; all stacks of the project if there are none.

    Raises Refusal if the project has no stacks, or not one of ``stacks``.
    """
    known = selected_stacks(project, None)
    return [each for name in dict.fromkeys(stacks) for each in selected_stacks(project, name)] or known


def run_stacks(
    stacks: Sequence[str],
    operate: Callable[[str, ProgressListener], StackOutcome],
    *,
    describe: Callable[[Exception], str] = str,
    listener: ProgressListener = SILENT,
) -> list[StackOutcome]:
    """Return the outcome of ``operate`` on each of ``stacks``. An error is the outcome of its stack.

    ``describe`` returns the reason of an error on one line. ``operate`` receives a listener whose lines name the stack.
    """
    outcomes: list[StackOutcome] = []
    for number, stack in enumerate(stacks, 1):
        try:
            outcome = operate(stack, _StackListener(listener, stack))
        except Exception as error:  # one stack never stops the others
            if _interrupted(error):
                raise
            outcome = StackOutcome(stack=stack, exit_code=COULD_NOT_RUN, summary=describe(error))
        outcomes.append(outcome)
        listener.note(f"{stack} ({number} of {len(stacks)}): {outcome.summary}")
    return outcomes


def _interrupted(error: BaseException | None) -> bool:
    """Return whether a signal ended the operation: a library that it interrupts may fail with an error of its own."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return True
        error = error.__context__
    return False


class _StackListener(ProgressListener):
    """Passes the progress of one stack to the listener of all stacks, with the name of the stack."""

    def __init__(self, listener: ProgressListener, stack: str) -> None:
        self._listener, self._stack = listener, stack

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        with self._listener.stage(self._named(status), self._named(then) if then else "") as report:
            yield report

    def note(self, line: str) -> None:
        self._listener.note(self._named(line))

    def warn(self, line: str) -> None:
        self._listener.warn(self._named(line))

    def _named(self, line: str) -> str:
        return f"{self._stack}: {line}"
