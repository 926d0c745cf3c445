"""Tell the receivers of a stack what changed between audits, without a delay for the audits.

Each receiver has one file with what it knows and what is pending. ``Notifier.take`` replaces the file in one step, and
a thread of each receiver delivers in order. No file has a URL or a credential.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from pydantic import ValidationError

from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.notices import alertmanager_alerts
from topicwarden.notices.finding_changes import JudgedChecks, ReceiverMemory, compare_report, merge_changes
from topicwarden.notices.notification import FindingChange, Notification
from topicwarden.notices.outbox import Outbox, OutboxContents, OutboxEntry, ReceiverStatus
from topicwarden.notices.post_request import PostOutcome, PostTarget
from topicwarden.notices.slack_message import render_slack
from topicwarden.report.display import printable
from topicwarden.stacks.receiver_settings import Receiver

__all__ = ["Notifier", "Receiver", "ReceiverStatus", "notifying"]

MOST_CHANGES: Final = 100
"""The most changes in one notification; more become several."""
MOST_PENDING: Final = 1_000
"""The most changes that wait for a receiver. More are combined into the difference between then and now."""
GRACE_S: Final = 3.0
"""How long the end of a process waits for pending deliveries."""


class Notifier:
    """Takes the reports of audits, and tells each receiver what changed."""

    def __init__(self, receivers: Sequence[Receiver], state: Path, report_url: str | None) -> None:
        """Read what each receiver knows from the folder ``state``, which must exist."""
        self._report_url = report_url
        self._outboxes = {each.name: _outbox(each, state / f"{each.name}.json", report_url) for each in receivers}

    def take(self, report: AuditReport) -> None:
        """Queue what changed since the last report. Never raises, and never waits for a receiver."""
        judged = None
        for outbox in self._outboxes.values():
            try:
                judged = judged or JudgedChecks(report)
                outbox.update(partial(_with_report, report=judged, report_url=self._report_url))
            except Exception as error:  # noqa: BLE001 -- a failure here must not fail the audit
                outbox.note(f"a report could not be compared with the previous one ({type(error).__name__})")

    def status(self) -> Mapping[str, ReceiverStatus]:
        """Return the state of the deliveries by receiver."""
        return {name: outbox.status() for name, outbox in self._outboxes.items()}

    def start(self) -> None:
        """Start to deliver what is pending."""
        for outbox in self._outboxes.values():
            outbox.start()

    def close(self, grace_s: float) -> None:
        """Stop, after at most ``grace_s`` seconds in which pending notifications are still delivered."""
        until = time.monotonic() + grace_s
        for outbox in self._outboxes.values():
            outbox.end()
        for outbox in self._outboxes.values():
            outbox.close(max(until - time.monotonic(), 0.0))


@contextmanager
def notifying(receivers: Sequence[Receiver], state: Path, report_url: str | None) -> Iterator[Notifier]:
    """Yield a notifier for ``receivers`` that keeps its files in the folder ``state``, and close it at the end.

    ``report_url`` is where people find the latest report. Refuses a folder that another process uses, or that cannot be
    written.
    """
    if not receivers:
        yield Notifier((), state, report_url)
        return
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        state.chmod(0o700)
        lock = FileLock(state / ".lock", mode=0o600, fallback_to_soft=False)
        lock.acquire(timeout=0)
    except Timeout:
        raise Refusal(
            f"another process sends notifications with the state in {state}: end that process, or use another folder"
        ) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise Refusal(f"the state of notifications in {state} cannot be written: {reason}") from error
    try:
        notifier = Notifier(receivers, state, report_url)
        notifier.start()
        try:
            yield notifier
        finally:
            notifier.close(GRACE_S)
    finally:
        lock.release()


def _with_report(contents: OutboxContents, report: JudgedChecks, report_url: str | None) -> OutboxContents:
    """Return the contents of an outbox after ``report``."""
    memory, changes = compare_report(_memory(contents.state), report)
    contents = contents.model_copy(update={"state": memory.model_dump(mode="json")})
    contents = _with_changes(contents, changes, report_url, combined=False)
    waiting = [change for each in contents.entries[1:] for change in _changes(each)]
    if not changes or len(waiting) <= MOST_PENDING:
        return contents
    # The first entry stays as it is, because an attempt to deliver it may have arrived.
    kept = contents.model_copy(update={"entries": contents.entries[:1]})
    return _with_changes(kept, merge_changes(map(FindingChange.model_validate, waiting)), report_url, combined=True)


def _memory(state: dict[str, Any]) -> ReceiverMemory:
    """Return what a receiver knows; nothing if another version has written ``state``."""
    try:
        return ReceiverMemory.model_validate(state)
    except ValidationError:
        return ReceiverMemory()


def _changes(entry: OutboxEntry) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = entry.payload["changes"]
    return changes


def _with_changes(
    contents: OutboxContents, changes: Sequence[FindingChange], report_url: str | None, *, combined: bool
) -> OutboxContents:
    entries, sequence = list(contents.entries), contents.sequence
    for start in range(0, len(changes), MOST_CHANGES):
        sequence += 1
        notification = Notification(
            id=uuid.uuid4().hex,
            sequence=sequence,
            combined=combined,
            report_url=report_url,
            changes=list(changes[start : start + MOST_CHANGES]),
        )
        entries.append(OutboxEntry(id=notification.id, payload=notification.model_dump(mode="json")))
    return contents.model_copy(update={"entries": entries, "sequence": sequence})


def _outbox(receiver: Receiver, file: Path, report_url: str | None) -> Outbox:
    if receiver.format != "alertmanager":
        return Outbox(file, partial(_deliver, receiver))
    target = PostTarget(receiver, alertmanager_alerts.PATH)
    return Outbox(file, partial(_deliver_alerts, target), partial(_repeat_alerts, target, report_url))


def _deliver(receiver: Receiver, entry: OutboxEntry, _state: dict[str, Any]) -> PostOutcome:
    notification = Notification.model_validate(entry.payload)
    if receiver.format == "slack":
        body = render_slack(notification)
    else:
        body = printable(notification.model_dump_json()).encode()
    return PostTarget(receiver).post(body, _headers(entry.id))


def _deliver_alerts(target: PostTarget, entry: OutboxEntry, state: dict[str, Any]) -> PostOutcome:
    notification = Notification.model_validate(entry.payload)
    return _post_alerts(target, notification.changes, state, notification.report_url, entry.id)


def _repeat_alerts(target: PostTarget, report_url: str | None, state: dict[str, Any]) -> PostOutcome | None:
    """Send all open findings again; None if there are none."""
    changes = _memory(state).open
    return _post_alerts(target, changes, state, report_url, uuid.uuid4().hex) if changes else None


def _post_alerts(
    target: PostTarget, changes: Sequence[FindingChange], state: dict[str, Any], report_url: str | None, key: str
) -> PostOutcome:
    open_findings = _memory(state).open
    now = int(time.time() * 1000)
    body = alertmanager_alerts.render_alerts(changes, open_findings, report_url, now)
    return target.post(body, _headers(key))


def _headers(key: str) -> dict[str, str]:
    return {"Content-Type": "application/json", "User-Agent": "topicwarden", "Idempotency-Key": key}
