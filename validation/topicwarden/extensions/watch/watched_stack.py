"""A stack that a watch audits: its declarations, its history, and where its reports go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from topicwarden.audit.run import audit
from topicwarden.audit.scan.lasting_session import LastingSession
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.extensions.watch.history_lock import history_lock, lock_path
from topicwarden.kafka.connect.stack_connection import stack_settings, written_settings
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope
from topicwarden.operations.audit import audit_request
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.operations.report_deliveries import ReportDeliveries, report_deliveries
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report.prometheus_text import Families
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.specs.stacks.stack_settings import HISTORY
from topicwarden.usage.history_files import is_local, local_path

if TYPE_CHECKING:
    from topicwarden.audit.request import AuditRequest


class WatchedStack:
    """A stack with its last valid declarations, the lock of its history, and the deliveries of its reports.

    All stacks of a watch share the session ``spark``. One thread at a time calls the methods. ``history`` is the option
    of the command line. ``auditing``: whether an audit runs. ``report_url``: where people find the latest report; no
    report is delivered without it. ``note`` receives lines for the log.
    """

    def __init__(
        self,
        project: Project,
        stack: str,
        history: str | None,
        bounds: ReadLimits,
        spark: LastingSession,
        *,
        note: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.stack = stack
        self.auditing = False
        self.report_url: str | None = None
        self._project, self._option, self._bounds, self._spark = project, history, bounds, spark
        self._note = note
        self._checked: CheckedStacks | None = None
        self._problem: str | None = None
        self._request: AuditRequest | None = None
        self._history: str | None = None
        self._cluster_id: str | None = None
        self._deliveries: ReportDeliveries | None = None
        self._resources = ExitStack()

    def open(self) -> None:
        """Lock the history, and start the deliveries if there is a ``report_url``, unless that is done already.

        Raises Refusal for settings that cannot be used, and HistoryInUse if another watch uses the history.
        """
        if self._history is None:
            history = _history(self._project, self.stack, self._option)
            folder = local_path(history) if is_local(history) else None
            path = lock_path(history, folder, self._project.cache)
            self._resources.enter_context(history_lock(path, history))
            self._history = history
        if self._deliveries is None and self.report_url is not None:
            self._deliveries = report_deliveries(
                self._project, self.stack, self.report_url, history=self._history, spark=self._spark, note=self._note
            )

    def close(self) -> None:
        """Unlock the history."""
        self._resources.close()

    def families(self) -> Families:
        """Return the metrics of the deliveries."""
        return self._deliveries.families() if self._deliveries else {}

    def deliver(self, report: AuditReport) -> None:
        """Give ``report`` to the receivers and the catalogues of the stack."""
        for take in self._deliveries.observers if self._deliveries else ():
            take(report)

    def read_declarations(self) -> str | None:
        """Read the YAML, as `topicwarden check` does; return the reason why it cannot be used, or None.

        Files are read each time, because some rules depend on the date, and reading takes less than a second. The
        settings of receivers and catalogues are read again, too: if they cannot be used, a line says so.
        """
        self._problem = None
        try:
            self._checked = checked_stack(self._project, self.stack, "audited")
        except Refusal as refusal:
            self._problem = str(refusal)
        if self._deliveries is not None:
            self._reload(self._deliveries)
        return self._problem

    def _reload(self, deliveries: ReportDeliveries) -> None:
        before = deliveries.problem
        with suppress(Refusal):
            deliveries.reload()
        if deliveries.problem is not None and deliveries.problem not in (before, self._problem):
            self._note(
                f"{self.stack}: the settings of receivers and catalogues cannot be used, and the last usable ones are: "
                f"{deliveries.problem}"
            )
        elif deliveries.problem is None and before is not None:
            self._note(f"{self.stack}: the settings of receivers and catalogues can be used again")

    def audit(self) -> AuditReport:
        """Audit the records since the last audit with the last valid declarations, and with the settings of now."""
        self.auditing = True
        try:
            self.open()
            report = audit(self._spark, self._current_request(), lambda share: None)
        except Exception:
            self._spark.after_failure()
            raise
        finally:
            self.auditing = False
        self._cluster_id = report.cluster_id
        return report

    def _current_request(self) -> AuditRequest:
        """Return the request for one audit. If the stack's file is broken, its last valid settings are used.

        The cluster must be that of the last audit, unless the settings say that the stack has moved.
        """
        if self._checked is None:
            raise Refusal(f"no declarations have been valid yet: {self._problem}")
        options = AuditOptions(self._history, ReadScope.LAST, self._bounds)
        try:
            self._request = audit_request(self._project, self.stack, self._checked, options)
        except Refusal:
            if self._problem is None or self._request is None:
                raise
        connection = self._request.connection
        if connection.sandbox:  # knows its cluster
            return self._request
        return replace(
            self._request, connection=replace(connection, cluster_id=connection.moved_to or self._cluster_id)
        )


def _history(project: Project, stack: str, option: str | None) -> str:
    """Return the address of the history. Refuse a watch without one, which would read all records each time."""
    setting = written_settings(project, stack).get(HISTORY)
    if isinstance(setting, dict):  # encrypted
        setting = stack_settings(project, stack).get(HISTORY)
    history = history_address(project, stack, setting, option)
    if history is None:
        raise Refusal(
            "a watch needs a history, or each audit would read all records: remove --history none, or set --history to "
            "a folder"
        )
    return history
