"""One thread for each receiver: it delivers the payloads of a queue in order, with exponential back-off.

A payload leaves its queue after its delivery, so a killed process loses none, and repeats at most the one under way.
Nobody but this thread waits for the receiver.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from filelock import FileLock, Timeout

from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.delivery_queue import DeliveryQueue, QueuedPayload, QueueTransaction

FIRST_PAUSE_S: Final = 1.0
"""The pause after a failed delivery, and the shortest one; each further pause is twice as long."""
LONGEST_PAUSE_S: Final = 300.0
"""The longest pause, unless the receiver requests a longer one."""
POLL_S: Final = 30.0
"""How often the thread looks for payloads that another process has left."""
REPEAT_S: Final = 60.0
"""How often ``DeliverySender.repeat`` is called while nothing is pending."""
_ATTEMPTS: Final = 5
"""How often a payload is sent that the receiver answers with an error of its own."""
_OTHER_PROCESS_S: Final = 1.0


class DeliverySender(ABC):
    """The way to one receiver, with its settings. One thread uses it."""

    @abstractmethod
    def deliver(self, content: bytes) -> None:
        """Send a payload. Raises DeliveryError."""

    def repeat(self) -> None:  # noqa: B027 -- most receivers forget nothing
        """Send again what the receiver may have forgotten. Raises DeliveryError."""

    def close(self) -> None:  # noqa: B027 -- not every way has a connection
        """Release connections."""


@dataclass(frozen=True)
class DeliveryStatus:
    """The deliveries to one receiver.

    ``pending``: payloads in the queue. The other counts are of this process: ``delivered`` payloads, ``rejected`` ones
    that the receiver does not accept, and ``dropped`` ones that gave room to new ones or could not be written.
    ``last_error`` is None after a success.
    """

    pending: int = 0
    delivered: int = 0
    dropped: int = 0
    rejected: int = 0
    last_error: str | None = None


class DeliveryThread:
    """The thread that delivers ``queue`` with ``sender``. ``noun`` names a payload in messages."""

    def __init__(self, name: str, queue: DeliveryQueue, sender: DeliverySender, noun: str) -> None:
        self.queue, self._sender, self._noun = queue, sender, noun
        self._lock = FileLock(
            queue.file.with_suffix(".lock"), timeout=0, mode=0o600, thread_local=False, fallback_to_soft=False
        )
        self._changed = threading.Condition()
        renamed = f"{queue.file.name} is damaged and was renamed; its deliveries are lost" if queue.damaged else None
        self._status = DeliveryStatus(last_error=renamed)
        self._due = self._repeat_at = time.monotonic()
        self._failures = self._attempts = 0
        self._settled: tuple[int, str | None] = (0, None)
        self._news = self._ending = self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"deliveries-{name}", daemon=True)

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def update(self, change: Callable[[QueueTransaction], int]) -> None:
        """Let ``change`` write to the queue in one step; it returns how many payloads it dropped.

        Never raises, and never waits for the receiver. A failure is the last error of the status.
        """
        dropped, error = 1, None
        try:
            with self.queue.transaction() as queue:
                dropped = change(queue)
        except OSError as failure:
            error = f"cannot write to {self.queue.file}: {_reason(failure)}"
        except Exception as failure:  # noqa: BLE001 -- no audit fails because of a receiver
            error = f"the audit cannot be written for this receiver ({type(failure).__name__})"
        with self._changed:
            self._note(dropped=self._status.dropped + dropped, last_error=error or self._status.last_error)
            self._wake()

    def use(self, sender: DeliverySender) -> None:
        """Deliver with ``sender`` from the next attempt on, which is made at once."""
        with self._changed:
            self._sender, self._failures, self._attempts = sender, 0, 0
            self._wake()

    def status(self) -> DeliveryStatus:
        """Return the present state."""
        with self._changed:
            try:
                pending = len(self.queue)
            except OSError:
                pending = 0
            return replace(self._status, pending=pending)

    def end(self) -> None:
        """Stop once everything pending is delivered, or a delivery fails."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def close(self, grace_s: float) -> None:
        """Stop after at most ``grace_s`` seconds, or when the delivery that is under way then ends."""
        self.end()
        if self._thread.ident is not None:
            self._thread.join(grace_s)
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _wake(self) -> None:
        self._news = True
        self._repeat_at = now = time.monotonic()
        if not self._failures:
            self._due = now
        self._changed.notify()

    def _note(self, **changes: object) -> None:
        self._status = replace(self._status, **changes)  # type: ignore[arg-type]

    def _run(self) -> None:
        used = self._sender
        while sender := self._due_sender():
            if sender is not used:
                used.close()
                used = sender
            try:
                idle = not self._attempt(sender)
            except Timeout:
                self._failed(sender, "another process delivers to this receiver", _OTHER_PROCESS_S)
            except OSError as error:
                self._failed(sender, f"cannot use {self.queue.file}: {_reason(error)}", self._pause())
            except DeliveryError as error:
                self._failed(sender, str(error), max(self._pause(), error.retry_after))
            else:
                self._succeeded(idle)
        used.close()

    def _due_sender(self) -> DeliverySender | None:
        """Wait until an attempt is due, and return its sender. Return None at the end."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if self._due <= now:
                    self._news = False
                    return self._sender
                if self._ending:
                    return None
                self._changed.wait(self._due - now)
        return None

    def _attempt(self, sender: DeliverySender) -> bool:
        """Deliver the oldest payload, and return whether there was one. Raises DeliveryError, OSError and Timeout."""
        if not len(self.queue):
            if self._repeat_at <= time.monotonic() and not self._ending:
                self._repeat(sender)
            return False
        with self._lock:
            payload = self.queue.oldest()
            if payload is None:  # another process has delivered it
                return True
            if payload.number != self._settled[0]:  # else only its removal has failed
                self._settled = payload.number, self._rejection(sender, payload)
            with self._changed:  # so that no status has a payload that is neither pending nor counted
                with self.queue.transaction() as queue:
                    queue.remove(payload.number)
                self._count(self._settled[1])
        return True

    def _repeat(self, sender: DeliverySender) -> None:
        try:
            sender.repeat()
        except (DeliveryError, OSError):
            raise
        except Exception as error:
            raise DeliveryError(f"the delivery failed ({type(error).__name__})") from error
        with self._changed:
            self._repeat_at = time.monotonic() + REPEAT_S

    def _rejection(self, sender: DeliverySender, payload: QueuedPayload) -> str | None:
        """Deliver a payload; return why it is left out, or None after a success. Raises DeliveryError and OSError."""
        try:
            sender.deliver(payload.content)
        except DeliveryError as error:
            self._attempts += error.limited
            if not error.rejected and self._attempts < _ATTEMPTS:
                raise
            return f"{error}; the {self._noun} was left out"
        except OSError:  # of files that the sender needs
            raise
        except Exception as error:  # noqa: BLE001 -- a bug in one payload must not stop the others
            return f"the delivery failed ({type(error).__name__}); the {self._noun} was left out"
        return None

    def _count(self, rejection: str | None) -> None:
        self._attempts, self._repeat_at = 0, time.monotonic() + REPEAT_S
        self._note(
            delivered=self._status.delivered + (rejection is None),
            rejected=self._status.rejected + (rejection is not None),
            last_error=rejection,
        )

    def _succeeded(self, idle: bool) -> None:
        with self._changed:
            self._failures = 0
            now = time.monotonic()
            next_look = now + POLL_S if self._ending else min(now + POLL_S, self._repeat_at)
            self._due = next_look if idle and not self._news else now

    def _failed(self, sender: DeliverySender, error: str, pause_s: float) -> None:
        with self._changed:
            if sender is self._sender:  # else the settings have changed meanwhile
                self._failures += 1
                self._due = time.monotonic() + pause_s
                self._note(last_error=error)

    def _pause(self) -> float:
        """Return the seconds until the next attempt, which grow with the failures, and are never the same for all."""
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._failures, 20)) * random.uniform(0.5, 1.0)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
