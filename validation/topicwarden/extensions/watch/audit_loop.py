"""Audit stacks again and again: one audit at a time, a new one each interval, and sooner after one that failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from topicwarden.extensions.watch.watch_state import WatchState
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.timestamps import utc
from topicwarden.model.units import duration_text
from topicwarden.report.audit.digest import digest

SHORTEST_PAUSE: Final = 0.1
"""The shortest time between two audits, as a share of the interval, for audits that take longer than it."""
FIRST_RETRY_S: Final = 5.0
"""The time until a failed audit is repeated. It doubles with each failure in a row, up to the interval."""
_MOST_DOUBLINGS: Final = 20


class StopSignal(Protocol):
    """The request to end, such as a ``threading.Event``."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Return after ``timeout`` seconds, or at once if the end is requested."""


class LoopListener(Protocol):
    """Receive one line for each audit, and one for each change that a person should know."""

    def note(self, line: str) -> None: ...

    def warn(self, line: str) -> None: ...


@dataclass(frozen=True)
class Schedule:
    """The times at which audits start, in seconds."""

    every: float
    first_retry: float = FIRST_RETRY_S

    def pause(self, took: float, failures: int) -> float:
        """Return the time from the end of an audit, which ``took`` some time, to the start of the next one."""
        if failures:
            return min(self.every, self.first_retry * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return max(self.every - took, self.every * SHORTEST_PAUSE)


@dataclass
class AuditLoop:
    """The audits of one stack.

    ``read_declarations`` returns the error that makes the YAML unusable, or None. ``audit`` audits with the last valid
    declarations. ``publish`` receives each new state, and ``observers`` each report. ``details_of`` receives an
    unexpected exception and returns its message.
    """

    state: WatchState
    schedule: Schedule
    read_declarations: Callable[[], str | None]
    audit: Callable[[], AuditReport]
    publish: Callable[[WatchState], object]
    listener: LoopListener
    observers: Sequence[Callable[[AuditReport], None]] = ()
    details_of: Callable[[Exception], str] = lambda error: f"unexpected error: {type(error).__name__}"
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def turn(self, stop: StopSignal) -> float | None:
        """Audit once, and return the time until the next audit. None if ``stop`` is set meanwhile."""
        began = self.monotonic()
        self._check_declarations()
        if stop.is_set():
            return None
        report, failure = self._audit_once(began)
        pause = self.schedule.pause(self.monotonic() - began, self.state.failed_audits)
        if report is not None:
            self._line(f"{digest(report).summary}; next audit in {_seconds(pause)}")
            self._observe(report)
        elif stop.is_set():
            return None
        else:
            self._line(f"{failure}; next audit in {_seconds(pause)}", bad=True)
        return pause

    def _check_declarations(self) -> None:
        before = self.state.declarations_problem
        try:
            problem = self.read_declarations()
        except Exception as error:  # noqa: BLE001 -- a watch goes on
            self._line(self._message(error), bad=True)
            problem = _public(error)
        self._update(replace(self.state, declarations_problem=problem, declarations_valid=problem is None))
        if problem is not None and problem != before:
            self._line(f"the declarations are not valid, and the last valid ones are used: {problem}", bad=True)
        elif problem is None and before is not None:
            self._line("the declarations are valid again")

    def _audit_once(self, began: float) -> tuple[AuditReport | None, str]:
        """Return the report, or None and the message of the failure for the log."""
        try:
            report = self.audit()
        except Exception as error:  # noqa: BLE001 -- a watch goes on
            now, failures = self.clock(), self.state.failed_audits + 1
            self._update(
                replace(
                    self.state,
                    last_audit=now,
                    next_audit=now + self.schedule.pause(self.monotonic() - began, failures),
                    failed_audits=failures,
                    failure=_public(error),
                    audit_seconds=self.monotonic() - began,
                )
            )
            return None, self._message(error)
        now = self.clock()
        self._update(
            replace(
                self.state,
                report=report,
                last_audit=now,
                last_success=now,
                next_audit=now + self.schedule.pause(self.monotonic() - began, 0),
                failed_audits=0,
                failure=None,
                audit_seconds=self.monotonic() - began,
            )
        )
        return report, ""

    def _observe(self, report: AuditReport) -> None:
        for observer in self.observers:
            try:
                observer(report)
            except Exception as error:  # noqa: BLE001 -- nobody who receives reports may stop the audits
                self._line(f"a receiver of reports failed: {self._message(error)}", bad=True)

    def _message(self, error: Exception) -> str:
        """Return the message for the log."""
        return _public(error) if isinstance(error, Refusal) else " ".join(self.details_of(error).split())

    def _update(self, state: WatchState) -> None:
        self.state = state
        self.publish(state)

    def _line(self, text: str, *, bad: bool = False) -> None:
        line = f"{utc(int(self.clock()) * 1000)} {self.state.stack}: {text}"
        (self.listener.warn if bad else self.listener.note)(line)


def run_in_turn(loops: Sequence[AuditLoop], stop: StopSignal, monotonic: Callable[[], float] = time.monotonic) -> None:
    """Audit until ``stop`` is set: one stack at a time, the one whose audit is due first.

    So a stack whose audits fail late, and are repeated soon, never has two turns while another stack waits. An audit
    that runs when ``stop`` is set is finished first.
    """
    due = [monotonic()] * len(loops)
    while not stop.is_set():
        number = due.index(min(due))
        wait = due[number] - monotonic()
        if wait > 0:
            stop.wait(wait)
            continue
        pause = loops[number].turn(stop)
        if pause is None:
            return
        due[number] = monotonic() + pause


def _public(error: Exception) -> str:
    """Return the message for the server. The text of an unexpected error might contain data."""
    if isinstance(error, Refusal):
        return " ".join(str(error).split())
    return f"unexpected error: {type(error).__name__}; the log of the watch has the details"


def _seconds(seconds: float) -> str:
    return duration_text(round(seconds, 1) * 1000)
