"""Publish audits to catalogues: each catalogue has a queue on disk and a thread, so that none delays an audit.

`publishing` yields a `Publisher`. A payload is written to the queue of each catalogue before ``take`` returns. The
thread of the catalogue delivers the oldest one first, at least once. It repeats failed deliveries with longer and
longer pauses.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from filelock import FileLock, Timeout

from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.datahub_sender import DataHubServer
from topicwarden.catalogues.delivery_error import DeliveryError
from topicwarden.catalogues.delivery_queue import DeliveryQueue, RememberedText
from topicwarden.catalogues.openlineage_sender import OpenLineageFile, OpenLineageServer
from topicwarden.model.finding import AuditReport
from topicwarden.stacks.catalogue_settings import CatalogueKind

DRAIN_S: Final = 5.0
"""How long the end of `publishing` waits for deliveries. The others remain in the queue."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 300.0
_ATTEMPTS: Final = 5
"""How often content is sent that a catalogue answers with an error of its own."""
_POLL_S: Final = 30.0
"""How often a thread looks for payloads that another process has left."""


@dataclass(frozen=True)
class CatalogueStatus:
    """The state of a catalogue.

    ``pending``: audits in the queue. Since the start, ``delivered`` is the number of delivered audits, ``dropped`` of
    those that gave room to new ones, and ``rejected`` of those that the catalogue does not accept. ``last_error`` is
    None after a success.
    """

    pending: int = 0
    delivered: int = 0
    dropped: int = 0
    rejected: int = 0
    last_error: str | None = None


class Sender(Protocol):
    """The way to one catalogue."""

    def payload(self, report: AuditReport) -> bytes:
        """Return the content of one audit. Sends nothing."""

    def deliver(self, payload: bytes) -> None:
        """Send a payload. Raises DeliveryError."""

    def close(self) -> None:
        """Release connections."""


class Publisher:
    """The catalogues of one stack, which take each audit."""

    def __init__(self, deliveries: Mapping[str, CatalogueDelivery]) -> None:
        self._deliveries = deliveries

    def take(self, report: AuditReport) -> None:
        """Queue ``report`` for each catalogue. Never raises, and waits for no catalogue."""
        for delivery in self._deliveries.values():
            delivery.take(report)

    def status(self) -> Mapping[str, CatalogueStatus]:
        """Return the state of each catalogue, by its name."""
        return {name: delivery.status() for name, delivery in self._deliveries.items()}


@contextmanager
def publishing(targets: Sequence[CatalogueTarget], state: Path, *, drain_s: float = DRAIN_S) -> Iterator[Publisher]:
    """Yield a publisher to ``targets``, whose queues are in folders of ``state``.

    At the end, deliveries go on for at most ``drain_s`` seconds, or until one fails. The next run delivers the others.
    Raises ValueError if a certificate of the settings is not usable.
    """
    deliveries = {target.name: CatalogueDelivery(_sender(target, state), state / target.name) for target in targets}
    for delivery in deliveries.values():
        delivery.start()
    try:
        yield Publisher(deliveries)
    finally:
        until = time.monotonic() + drain_s
        for delivery in deliveries.values():
            delivery.stop()
        for delivery in deliveries.values():
            delivery.join(max(0.0, until - time.monotonic()))


def _sender(target: CatalogueTarget, state: Path) -> Sender:
    if target.settings.kind is CatalogueKind.DATAHUB:
        return DataHubServer(target, RememberedText(state / target.name / "delivered.memory"))
    return OpenLineageFile(target, target.settings.file) if target.settings.file else OpenLineageServer(target)


class CatalogueDelivery:
    """The queue of one catalogue, and the thread that empties it."""

    def __init__(self, sender: Sender, folder: Path) -> None:
        self._sender, self._queue = sender, DeliveryQueue(folder)
        self._lock = FileLock(folder / ".lock", timeout=0, thread_local=False)
        self._news, self._stopping = threading.Event(), threading.Event()
        self._delivered = self._dropped = self._rejected = self._attempts = 0
        self._last_error: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"catalogue-{folder.name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def take(self, report: AuditReport) -> None:
        """Queue ``report``. A failure is the last error of the status."""
        try:
            self._dropped += self._queue.add(self._sender.payload(report))
        except OSError as error:
            self._dropped += 1
            self._last_error = f"cannot write to {self._queue.folder}: {error.strerror or type(error).__name__}"
        except Exception as error:  # noqa: BLE001 -- no audit fails because of a catalogue
            self._dropped += 1
            self._last_error = f"the audit has no form for this catalogue ({type(error).__name__})"
        self._news.set()

    def status(self) -> CatalogueStatus:
        """Return the state now."""
        try:
            pending = len(self._queue)
        except OSError:
            pending = 0
        return CatalogueStatus(pending, self._delivered, self._dropped, self._rejected, self._last_error)

    def stop(self) -> None:
        """Make the thread end with an empty queue, or with a failure."""
        self._stopping.set()
        self._news.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread. It ends with the process if it takes longer."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        failures = 0
        while True:
            self._news.clear()
            try:
                remaining = self._deliver_oldest()
                failures = 0
            except DeliveryError as error:
                failures += 1
                self._last_error = str(error)
                if self._stopping.is_set() or self._stopping.wait(_pause(failures, error.retry_after)):
                    break
                continue
            if not remaining:
                if self._stopping.is_set():
                    break
                self._news.wait(_POLL_S)
        self._sender.close()

    def _deliver_oldest(self) -> bool:
        """Deliver the oldest payload, and return whether there was one. Raises DeliveryError."""
        try:
            if self._queue.oldest() is None:
                return False
            with self._lock:
                entry = self._queue.oldest()
                if entry is None:
                    return False
                rejection = self._deliver(entry)
                self._queue.remove(entry)
                self._attempts, self._last_error = 0, rejection
                self._delivered += rejection is None
                self._rejected += rejection is not None
        except Timeout:
            raise DeliveryError("another process delivers to this catalogue", retry_after=1) from None
        except FileNotFoundError:  # it has given room to a new payload
            return True
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DeliveryError(f"cannot use {self._queue.folder}: {reason}") from None
        return True

    def _deliver(self, entry: Path) -> str | None:
        """Deliver a payload, and return why it is left out; None after a success. Raises DeliveryError."""
        try:
            self._sender.deliver(entry.read_bytes())
        except DeliveryError as error:
            self._attempts += error.limited
            if not error.rejected and self._attempts < _ATTEMPTS:
                raise
            return f"{error}; the audit was left out"
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 -- a bug must not stop the thread, and the rest of the queue
            return f"the delivery failed ({type(error).__name__}); the audit was left out"
        return None


def _pause(failures: int, requested: float | None) -> float:
    """Return the seconds until the next attempt: twice as long after each failure, and never the same for everyone."""
    if requested is not None:
        return min(max(requested, FIRST_PAUSE_S), LONGEST_PAUSE_S)
    longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures - 1, 20))
    return longest * random.uniform(0.5, 1.0)
