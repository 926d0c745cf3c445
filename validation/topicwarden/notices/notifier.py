"""Tell the receivers of a stack what changed between audits, without a delay for the audits.

Each receiver has one file with what it knows and what is pending. ``Notifier.take`` changes both in one step, and a
thread of each receiver delivers in order. No file has a URL or a credential.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from topicwarden.deliveries.delivery_queue import DeliveryQueue, QueueTransaction
from topicwarden.deliveries.delivery_thread import DeliverySender, DeliveryStatus
from topicwarden.deliveries.delivery_threads import DeliveryThreads
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.notices.finding_changes import JudgedChecks, compare_report, merge_changes
from topicwarden.notices.notice_senders import AlertmanagerSender, WebhookSender, stored_memory
from topicwarden.notices.notification import FindingChange, Notification
from topicwarden.stacks.receiver_settings import Receiver

MOST_CHANGES: Final = 100
"""The most changes in one notification; more become several."""
MOST_PENDING: Final = 1_000
"""The most changes that wait for a receiver. More are combined into the difference between then and now."""
GRACE_S: Final = 3.0
"""How long the end of a process waits for pending deliveries."""


class Notifier:
    """Takes the reports of audits, and tells each receiver what changed. The queues are in the folder ``state``."""

    def __init__(self, state: Path, report_url: str | None) -> None:
        self._state, self._report_url = state, report_url
        self._lock: FileLock | None = None
        self._threads: DeliveryThreads[Receiver] = DeliveryThreads(
            "notification", lambda receiver: state / f"{receiver.name}.sqlite", self._sender
        )

    def use(self, receivers: Sequence[Receiver]) -> None:
        """Tell ``receivers`` from now on. Refuse a folder that another process uses, or that cannot be written."""
        if receivers and self._lock is None:
            self._lock = _locked(self._state)
        self._threads.use(receivers)

    def take(self, report: AuditReport) -> None:
        """Queue what changed since the last report. Never raises, and never waits for a receiver."""
        judged = cache(partial(JudgedChecks, report))
        for _, thread in self._threads:
            thread.update(lambda queue: _add_changes(judged(), self._report_url, queue))

    def status(self) -> Mapping[str, DeliveryStatus]:
        """Return the state of the deliveries by receiver. A payload is a notification."""
        return self._threads.status()

    def close(self, grace_s: float) -> None:
        """Stop, after at most ``grace_s`` seconds in which pending notifications are still delivered."""
        self._threads.close(grace_s)
        if self._lock is not None:
            self._lock.release()

    def _sender(self, receiver: Receiver, queue: DeliveryQueue) -> DeliverySender:
        if receiver.format == "alertmanager":
            return AlertmanagerSender(receiver, queue, self._report_url)
        return WebhookSender(receiver)


@contextmanager
def notifying(receivers: Sequence[Receiver], state: Path, report_url: str | None) -> Iterator[Notifier]:
    """Yield a notifier for ``receivers`` that keeps its files in the folder ``state``, and close it at the end.

    ``report_url`` is where people find the latest report. Refuses a folder that another process uses, or that cannot be
    written.
    """
    notifier = Notifier(state, report_url)
    try:
        notifier.use(receivers)
        yield notifier
    finally:
        notifier.close(GRACE_S)


def _locked(state: Path) -> FileLock:
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(state / ".lock", mode=0o600, thread_local=False, fallback_to_soft=False)
        lock.acquire(timeout=0)
    except Timeout:
        raise Refusal(
            f"another process sends notifications with the state in {state}: end that process, or use another folder"
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise Refusal(f"the state of notifications in {state} cannot be written: {reason}") from error
    return lock


def _add_changes(report: JudgedChecks, report_url: str | None, queue: QueueTransaction) -> int:
    """Compare ``report`` with what the receiver knows, and queue the changes. Return 0: no change is dropped."""
    memory, changes = compare_report(stored_memory(queue.state), report)
    queue.state = json.dumps(memory.model_dump(mode="json"))
    if not changes:
        return 0
    _append(queue, changes, report_url, combined=False)
    # The first notification stays as it is, because an attempt to deliver it may have arrived.
    pending = queue.payloads()[1:]
    waiting = [change for each in pending for change in _changes(each.content)]
    if len(waiting) > MOST_PENDING:
        for each in pending:
            queue.remove(each.number)
        _append(queue, merge_changes(map(FindingChange.model_validate, waiting)), report_url, combined=True)
    return 0


def _append(
    queue: QueueTransaction, changes: Sequence[FindingChange], report_url: str | None, *, combined: bool
) -> None:
    for start in range(0, len(changes), MOST_CHANGES):
        notification = Notification(
            id=uuid.uuid4().hex,
            sequence=queue.next_number,
            combined=combined,
            report_url=report_url,
            changes=list(changes[start : start + MOST_CHANGES]),
        )
        queue.append(json.dumps(notification.model_dump(mode="json")).encode())


def _changes(content: bytes) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = json.loads(content)["changes"]
    return changes
