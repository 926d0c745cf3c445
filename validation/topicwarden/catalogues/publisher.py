"""Publish audits to catalogues. Each catalogue has a queue on disk and a thread, so that none delays an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.datahub_sender import DataHubServer, verdict_rows
from topicwarden.catalogues.openlineage_sender import OpenLineageFile, OpenLineageServer, event_lines
from topicwarden.catalogues.remembered_text import RememberedText
from topicwarden.deliveries.delivery_queue import DeliveryQueue, QueueTransaction
from topicwarden.deliveries.delivery_thread import DeliverySender, DeliveryStatus
from topicwarden.deliveries.delivery_threads import DeliveryThreads
from topicwarden.model.finding import AuditReport
from topicwarden.stacks.catalogue_settings import CatalogueKind

DRAIN_S: Final = 5.0
"""How long the end of `publishing` waits for deliveries. The others remain in the queue."""
MOST_ENTRIES: Final = 100
"""The most audits that wait for a catalogue. The oldest ones give room to new ones."""
MOST_BYTES: Final = 64 << 20
"""The most bytes of a queue. The newest audit may be larger."""


class Publisher:
    """The catalogues of one stack, which take each audit. Their queues are in folders of ``state``."""

    def __init__(self, state: Path) -> None:
        self._threads: DeliveryThreads[CatalogueTarget] = DeliveryThreads(
            "audit", lambda target: state / target.name / f"{target.settings.kind}.sqlite", _sender
        )

    def use(self, targets: Sequence[CatalogueTarget]) -> None:
        """Publish to ``targets`` from now on. What is pending stays in the queues."""
        self._threads.use(targets)

    def take(self, report: AuditReport) -> None:
        """Queue ``report`` for each catalogue. Never raises, and waits for no catalogue."""
        for target, thread in self._threads:
            thread.update(partial(_add, target, report))

    def status(self) -> Mapping[str, DeliveryStatus]:
        """Return the state of each catalogue, by its name. A payload is an audit."""
        return self._threads.status()

    def close(self, drain_s: float) -> None:
        """Stop after at most ``drain_s`` seconds, or when deliveries fail."""
        self._threads.close(drain_s)


@contextmanager
def publishing(targets: Sequence[CatalogueTarget], state: Path, *, drain_s: float = DRAIN_S) -> Iterator[Publisher]:
    """Yield a publisher to ``targets``, whose queues are in folders of ``state``.

    At the end, deliveries go on for at most ``drain_s`` seconds, or until one fails. The next run delivers the others.
    """
    publisher = Publisher(state)
    try:
        publisher.use(targets)
        yield publisher
    finally:
        publisher.close(drain_s)


def _add(target: CatalogueTarget, report: AuditReport, queue: QueueTransaction) -> int:
    is_datahub = target.settings.kind is CatalogueKind.DATAHUB
    queue.append(verdict_rows(report) if is_datahub else event_lines(report, target))
    return queue.drop_oldest(MOST_ENTRIES, MOST_BYTES)


def _sender(target: CatalogueTarget, queue: DeliveryQueue) -> DeliverySender:
    if target.settings.kind is CatalogueKind.DATAHUB:
        return DataHubServer(target, RememberedText(queue.file.with_name("delivered.memory")))
    return OpenLineageFile(target.settings.file) if target.settings.file else OpenLineageServer(target)
