"""Give each report of a watch to those whom the stack names: receivers of notifications, and data catalogues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from topicwarden.audit.history.store import files_at
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.stack_connection import refuse_problems, settings_file, stack_settings, written_settings
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.catalogues import publisher as catalogues
from topicwarden.operations.catalogues.publisher import Publisher, catalogue_targets
from topicwarden.operations.notices.notifier import Notifier
from topicwarden.operations.notices.old_queue import left_queues
from topicwarden.report.prometheus_text import Families
from topicwarden.specs.stacks.delivery_settings import Receiver, read_receivers
from topicwarden.specs.stacks.stack_settings import CATALOGUES, NOTIFICATIONS


class ReportDeliveries:
    """The receivers and the catalogues of one stack, as its settings are at the latest ``reload``."""

    def __init__(
        self, project: Project, stack: str, notifier: Notifier, publisher: Publisher, note: Callable[[str], None]
    ) -> None:
        self._project, self._stack, self._note = project, stack, note
        self._notifier, self._publisher = notifier, publisher
        self.problem: str | None = None
        """Why the settings could not be used at the latest ``reload``; None if they could."""

    @property
    def observers(self) -> tuple[Callable[[AuditReport], None], ...]:
        """The functions that take each report. They raise nothing, and wait for receivers a few seconds at most."""
        return (self._notifier.take, self._publisher.take)

    def reload(self) -> None:
        """Read settings and secrets again, and use them from now on. What is pending stays.

        Raises Refusal for settings that cannot be used. The last usable settings then stay in use.
        """
        try:
            self._reload()
        except Refusal as refusal:
            self.problem = str(refusal)
            raise
        self.problem = None

    def _reload(self) -> None:
        settings = written_settings(self._project, self._stack)
        if settings.get(NOTIFICATIONS) is not None or settings.get(CATALOGUES) is not None:
            settings = stack_settings(self._project, self._stack)
        receivers = receivers_of(self._project, self._stack, settings)
        targets = catalogue_targets(self._project, self._stack, settings)
        self._notifier.use(receivers)
        self._publisher.use(targets)
        for line in (
            *left_queues(old_queues(self._project, self._stack), {each.name for each in receivers}),
            *catalogues.left_queues(self._project, self._stack),
        ):
            self._note(line)

    def families(self) -> Families:
        """Return the metrics of the deliveries."""
        notified = self._notifier.status()
        errors = [
            *(("notification", name, each.last_error) for name, each in notified.items()),
            *(("catalogue", name, error) for name, error in self._publisher.errors().items()),
            ("settings", "", self.problem),
        ]
        return {
            "watch_pending_deliveries": (
                "Changes of findings that a receiver does not know yet.",
                [({"kind": "notification", "receiver": name}, each.pending) for name, each in notified.items()],
            ),
            "watch_failed_delivery": (
                "1 if the last delivery to the receiver failed, or if the settings of receivers cannot be used.",
                [({"kind": kind, "receiver": name}, int(error is not None)) for kind, name, error in errors],
            ),
        }


def old_queues(project: Project, stack: str) -> Path:
    """Return the folder in which earlier versions kept the queues of the receivers of ``stack``."""
    return project.cache / "notifications" / stack


def receivers_of(project: Project, stack: str, settings: Mapping[str, Any]) -> tuple[Receiver, ...]:
    """Return the receivers in the decrypted ``settings`` of ``stack``. Refuse invalid settings."""
    if settings.get(NOTIFICATIONS) is None:
        return ()
    receivers, problems = read_receivers(settings[NOTIFICATIONS], project.root)
    refuse_problems(problems, settings_file(stack), NOTIFICATIONS)
    return tuple(receivers)


def report_deliveries(
    project: Project,
    stack: str,
    report_url: str,
    *,
    history: str,
    spark: SparkSource,
    note: Callable[[str], None] = lambda line: None,
) -> ReportDeliveries:
    """Return the deliveries of ``stack``.

    ``report_url`` is where people find the latest report. ``history`` is the address of the stack's history; one that
    is not on this machine needs ``spark``. ``note`` receives one line for each queue of an earlier version that nobody
    delivers. Raises Refusal as ``ReportDeliveries.reload``.
    """
    notifier = Notifier(files_at(history, spark), history, old_queues(project, stack), report_url)
    deliveries = ReportDeliveries(project, stack, notifier, Publisher(), note)
    deliveries.reload()
    return deliveries
