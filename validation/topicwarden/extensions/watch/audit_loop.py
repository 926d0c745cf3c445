"""Audit stacks again and again: one at a time, each interval, sooner after a failure; and the state of each one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, Protocol

from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import COULD_NOT_RUN, StackOutcome
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.timestamps import utc
from topicwarden.model.units import duration_text
from topicwarden.model.verdict import FailOn
from topicwarden.report.audit.digest import digest
from topicwarden.report.prometheus_text import Families

_SOON_S: Final = 5


@dataclass(frozen=True)
class WatchState:
    """The state of a stack between two steps of a watch. Times are in seconds since the epoch.

    - ``report``: the last complete audit; None before the first one.
    - ``last_audit``: the end of the last audit, also of one that failed; ``last_success`` only of one that did not.
    - ``next_audit``: the start of the next audit; None during the first one.
    - ``failed_audits``: how many audits have failed in a row; ``failure`` is the message of the last one.
    - ``declarations_problem``: the first error of the YAML, if it is not valid now; None if it is, or was not read yet.
    - ``declarations_valid``: None if it was not read yet.
    """

    stack: str
    interval_s: float
    report: AuditReport | None = None
    last_audit: float | None = None
    last_success: float | None = None
    next_audit: float | None = None
    failed_audits: int = 0
    failure: str | None = None
    audit_seconds: float | None = None
    declarations_problem: str | None = None
    declarations_valid: bool | None = None

    def families(self) -> Families:
        """Return the watch's own metrics."""
        valid = None if self.declarations_valid is None else int(self.declarations_valid)
        values: dict[str, tuple[str, float | None]] = {
            "last_audit_timestamp_seconds": ("End of the last audit, also of one that failed.", self.last_audit),
            "last_success_timestamp_seconds": ("End of the last audit that did not fail.", self.last_success),
            "failed_audits": ("Audits that have failed in a row.", self.failed_audits),
            "declarations_valid": (
                "1 if the declarations are valid; 0 if the last valid ones are used instead.",
                valid,
            ),
            "interval_seconds": ("Time from the start of an audit to the start of the next one.", self.interval_s),
            "audit_seconds": ("Duration of the last audit.", self.audit_seconds),
        }
        return {f"watch_{name}": (text, [({}, value)]) for name, (text, value) in values.items()}

    def outcome(self) -> StackOutcome:
        """Return the result of the last audit, as a report on several stacks has it."""
        report, failure = self.report, self.failure
        if report is not None and failure is None:
            code, summary = int(report.fails(FailOn.FAIL)), digest(report).summary
        else:
            last = f"; its report is of {_utc(self.last_success)}" if self.last_success is not None else ""
            code, summary = COULD_NOT_RUN, f"{failure or 'no audit has finished'}{last}"
        return StackOutcome(stack=self.stack, exit_code=code, summary=summary, report=report)

    def next_result_s(self, now: float) -> int:
        """Return in how many seconds the next audit will probably have ended: the last one tells how long it takes."""
        if self.next_audit is None:
            return _SOON_S
        return max(_SOON_S, ceil(self.next_audit + (self.audit_seconds or 0) + 1 - now))

    def waiting(self) -> str:
        """Return why there is no report yet, and when there will be one."""
        if self.failure is None:
            return "no audit has finished: the first one is running"
        upcoming = "" if self.next_audit is None else f"; the next one starts at {_utc(self.next_audit)}"
        return f"no audit has finished: the last one failed ({self.failure}){upcoming}"

    def lines(self) -> Iterator[str]:
        """Yield what ``/readyz`` shows of the stack."""
        yield f"stack: {self.stack}"
        if self.report is None:
            yield "report: none, because no audit has finished"
        if self.last_success is not None:
            yield f"last audit without failure: {_utc(self.last_success)}"
        if self.failed_audits:
            yield f"audits: {counted(self.failed_audits, 'audit')} failed in a row: {self.failure}"
        if self.declarations_valid:
            yield "declarations: valid"
        elif self.declarations_problem is not None:
            yield f"declarations: not valid, the last valid ones are used: {self.declarations_problem}"


def _utc(seconds: float) -> str:
    return utc(int(seconds) * 1000)


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
