"""Give each report of a watch to those whom the stack names: receivers of notifications, and data catalogues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from topicwarden.catalogues.catalogue_target import catalogue_targets
from topicwarden.catalogues.publisher import Publisher, publishing
from topicwarden.catalogues.stack_publisher import catalogue_state
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.notices.configured_receivers import receivers_of, state_folder
from topicwarden.notices.notifier import Notifier, notifying
from topicwarden.report.prometheus_text import Families

_DRAIN_S: Final = 1.0
"""How long the end of a watch waits for a catalogue. The next watch delivers what remains."""


@dataclass(frozen=True)
class ReportDeliveries:
    """The receivers and the catalogues of one stack."""

    notifier: Notifier
    publisher: Publisher

    @property
    def observers(self) -> tuple[Callable[[AuditReport], None], ...]:
        """The functions that take each report. They raise nothing, and wait for nobody."""
        return (self.notifier.take, self.publisher.take)

    def families(self) -> Families:
        """Return the metrics of the deliveries, with the labels ``kind`` and ``receiver``."""
        states = [
            *(("notification", name, each.pending, each.last_error) for name, each in self.notifier.status().items()),
            *(("catalogue", name, each.pending, each.last_error) for name, each in self.publisher.status().items()),
        ]
        labels = [{"kind": kind, "receiver": name} for kind, name, _, _ in states]
        return {
            "watch_pending_deliveries": (
                "Notifications and audits that wait for a receiver.",
                list(zip(labels, (pending for _, _, pending, _ in states), strict=True)),
            ),
            "watch_failed_delivery": (
                "1 if the last delivery to the receiver failed.",
                list(zip(labels, (int(error is not None) for *_, error in states), strict=True)),
            ),
        }


@contextmanager
def report_deliveries(project: Project, stack: str, report_url: str) -> Iterator[ReportDeliveries]:
    """Yield the deliveries of ``stack``, which go on until the end of the block.

    ``report_url`` is where people find the latest report. Raises Refusal for invalid settings, and if another process
    delivers for this stack.
    """
    with ExitStack() as resources:
        notifier = resources.enter_context(
            notifying(receivers_of(project, stack), state_folder(project, stack), report_url)
        )
        targets = catalogue_targets(project, stack)
        try:
            publisher = resources.enter_context(publishing(targets, catalogue_state(project, stack), drain_s=_DRAIN_S))
        except ValueError as error:  # a certificate that cannot be loaded
            raise Refusal(f"the catalogues of stack {stack} cannot be used: {error}") from error
        yield ReportDeliveries(notifier, publisher)
