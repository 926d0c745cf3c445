"""The state of one watched stack, which the server shows: the last report, failures, and the declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final

from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import COULD_NOT_RUN, StackOutcome
from topicwarden.model.message_text import counted
from topicwarden.model.timestamps import utc
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
