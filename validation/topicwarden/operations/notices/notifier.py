"""Tell the receivers of a stack what changed between audits.

The history remembers what each receiver knows. A notification is in this memory before it is sent, and leaves it once
the receiver has answered. So a process that is killed repeats it with the same id, and loses no change.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from topicwarden.model.files import replace_file
from topicwarden.model.finding import AuditReport
from topicwarden.operations.notices.finding_changes import JudgedChecks, ReceiverMemory, compare_report, merge_changes
from topicwarden.operations.notices.notification import FindingChange, Notification, StillOpen, notification_text
from topicwarden.operations.notices.old_queue import OldQueue
from topicwarden.operations.notices.webhook import THREAD, WebhookError, post
from topicwarden.report.display import printable
from topicwarden.specs.stacks.delivery_settings import Receiver
from topicwarden.usage.history_files import VERSION, HistoryFiles, history_root, is_local, local_path

MOST_CHANGES: Final = 100
"""The most changes in one notification, and the most open findings; more changes become several notifications."""
MOST_BYTES: Final = 200_000
"""The most bytes of a notification with more than one change. By default, Mattermost accepts 300,000."""
DEADLINE_S: Final = 5.0
"""How long an audit waits for all receivers. What is not delivered by then is sent again after the next audit."""


@dataclass(frozen=True)
class ReceiverStatus:
    """The deliveries to one receiver: ``pending`` changes, ``delivered`` notifications of this process.

    ``last_error`` is None after a success.
    """

    pending: int = 0
    delivered: int = 0
    last_error: str | None = None


class Notifier:
    """Takes the reports of audits, and tells each receiver what changed.

    ``files`` are those of ``history``, the address of the stack's history; one process at a time uses it. ``old`` is
    the folder of the queues of earlier versions. ``report_url`` is where people find the latest report.
    """

    def __init__(self, files: HistoryFiles, history: str, old: Path, report_url: str | None) -> None:
        self._files, self._folder = files, f"{history_root(history).rstrip('/')}/{VERSION}/receivers"
        self._old, self._report_url = old, report_url
        self._answered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._every: dict[str, _KnownReceiver] = {}
        self._known: dict[str, _KnownReceiver] = {}

    def use(self, receivers: Sequence[Receiver]) -> None:
        """Tell ``receivers`` from now on. The memory of one that was removed stays in the history."""
        known = {}
        for receiver in receivers:
            if receiver.name not in self._every:
                file = _MemoryFile(self._files, f"{self._folder}/{receiver.name}.json")
                old = OldQueue(self._old / f"{receiver.name}.sqlite")
                self._every[receiver.name] = _KnownReceiver(file, old, self._report_url, self._answered)
            known[receiver.name] = self._every[receiver.name]
            known[receiver.name].receiver = receiver
        self._known = known

    def take(self, report: AuditReport) -> None:
        """Tell what changed since the last report. Never raises, and takes at most ``DEADLINE_S`` for all receivers."""
        judged = cache(partial(JudgedChecks, report))
        for each in self._known.values():
            with each.noting_errors():
                each.add(judged())
        self.deliver()

    def deliver(self) -> None:
        """Send what the receivers do not know. Never raises, and takes at most ``DEADLINE_S``."""
        until = time.monotonic() + DEADLINE_S
        self._settle(0)
        for each in self._known.values():
            with each.noting_errors():
                each.send()
        while any(each.busy for each in self._known.values()) and self._settle(until - time.monotonic()):
            pass
        for each in self._known.values():
            each.note_silence()

    def status(self) -> Mapping[str, ReceiverStatus]:
        """Return the state of the deliveries by receiver."""
        return {name: each.status for name, each in self._known.items()}

    def _settle(self, seconds: float) -> bool:
        """Note the answers that arrive within ``seconds``, at least one; return whether there was one."""
        try:
            self._answered.get(timeout=max(seconds, 0.0))()
            while not self._answered.empty():
                self._answered.get()()
        except Empty:
            return False
        return True


class _KnownReceiver:
    """A receiver, and the memory of what it knows. Only the thread of the audits calls the methods."""

    receiver: Receiver

    def __init__(
        self, file: _MemoryFile, old: OldQueue, report_url: str | None, answered: SimpleQueue[Callable[[], None]]
    ) -> None:
        self._file, self._old, self._report_url, self._answered = file, old, report_url, answered
        self._loaded: ReceiverMemory | None = None
        self._may_know = True  # an earlier process may have sent the notification of the memory
        self._not_before = 0.0
        self.busy = False
        self.status = ReceiverStatus()

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Make the last error of the status from any exception: no audit fails because of a receiver."""
        try:
            yield
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            self._note(f"the history cannot remember what the receiver knows: {reason}")
        except Exception as error:  # noqa: BLE001
            self._note(f"the notification cannot be made ({type(error).__name__})")

    def add(self, judged: JudgedChecks) -> None:
        """Remember what ``judged`` changes. Raises OSError if the history cannot be used."""
        if self._loaded is None:
            self._loaded = self._file.read() or self._old.memory() or ReceiverMemory()
        self._loaded, _ = compare_report(self._loaded, judged)
        self._next()
        self._note(self.status.last_error if self._loaded.sending else None)
        self._save()

    def send(self) -> None:
        """Begin to send the next notification, if there is one and the receiver has not asked to wait."""
        self._next()
        if self._loaded is None or self._loaded.sending is None or self.busy or time.monotonic() < self._not_before:
            return
        self._save()
        arguments, name = (self.receiver, self._loaded.sending), f"{THREAD}{self.receiver.name}"
        threading.Thread(target=self._post, args=arguments, name=name, daemon=True).start()
        self.busy = True

    def note_silence(self) -> None:
        """Note that the receiver has not answered yet, if that is so."""
        if self.busy:
            self._note("did not answer in time")

    def _post(self, receiver: Receiver, notification: Notification) -> None:
        failure: WebhookError | None = None
        try:
            headers = {"Idempotency-Key": notification.id, **_credentials(receiver)}
            post(receiver.url, _body(notification), headers, receiver.certificates)
        except WebhookError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 -- of any answer
            failure = WebhookError(f"the delivery failed ({type(error).__name__})", uncertain=True)
        self._answered.put(partial(self._settle, notification, failure))

    def _settle(self, notification: Notification, failure: WebhookError | None) -> None:
        """Remember that the receiver knows ``notification``, or why it may not."""
        self.busy = False
        with self.noting_errors():
            assert self._loaded is not None
            memory = self._loaded
            if failure is None:
                self._loaded = memory.model_copy(update={"sending": None})
                self.status = replace(self.status, delivered=self.status.delivered + 1)
                self._note(None)
                self._next()
                self._save()
                self.send()
                return
            self._not_before = time.monotonic() + failure.retry_after
            self._may_know |= failure.uncertain
            if not self._may_know:
                changes = merge_changes([*notification.changes, *memory.changes])
                self._loaded = memory.model_copy(update={"sending": None, "changes": changes})
                self._save()
            self._note(str(failure))

    def _next(self) -> None:
        """Make a notification of the first pending changes, unless one is under way."""
        memory = self._loaded
        if memory is None or memory.sending or not memory.changes:
            return
        count = MOST_CHANGES
        while len(_body(sending := _notification(memory, count, self.receiver, self._report_url))) > MOST_BYTES:
            if count == 1:
                break
            count = min(count, len(memory.changes)) // 2 or 1
        rest = memory.changes[len(sending.changes) :]
        self._loaded = memory.model_copy(update={"sending": sending, "changes": rest, "sequence": sending.sequence})
        self._may_know = False

    def _save(self) -> None:
        assert self._loaded is not None
        self._file.write(self._loaded)
        self._old.delete()

    def _note(self, error: str | None) -> None:
        memory = self._loaded or ReceiverMemory()
        pending = len(memory.changes) + (len(memory.sending.changes) if memory.sending else 0)
        self.status = replace(self.status, pending=pending, last_error=error)


class _MemoryFile:
    """The file of what one receiver knows, in the history. Raises OSError."""

    def __init__(self, files: HistoryFiles, url: str) -> None:
        self._files, self._url = files, url
        self._written: bytes | None = None

    def read(self) -> ReceiverMemory | None:
        """Return the content; None if there is no file, or one of another version."""
        content = self._files.read(self._url)
        try:
            return None if content is None else ReceiverMemory.model_validate_json(content)
        except ValueError:
            return None

    def write(self, memory: ReceiverMemory) -> None:
        """Replace the content in one step, if it is another one."""
        content = json.dumps(memory.model_dump(mode="json")).encode()
        if content == self._written:
            return
        if is_local(self._url):
            path = local_path(self._url)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, content, mode=0o600)
        else:
            self._files.write(self._url, content)
        self._written = content


def _credentials(receiver: Receiver) -> dict[str, str]:
    if receiver.token is not None:
        return {"Authorization": f"Bearer {receiver.token}"}
    if receiver.username is not None:
        pair = base64.b64encode(f"{receiver.username}:{receiver.password or ''}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    return {}


def _body(notification: Notification) -> bytes:
    return printable(notification.model_dump_json()).encode()


def _notification(memory: ReceiverMemory, count: int, receiver: Receiver, report_url: str | None) -> Notification:
    """Return a notification of the first ``count`` pending changes. Equal arguments give equal ids."""
    changes, sequence = memory.changes[:count], memory.sequence + 1
    still_open = _open_after(memory, memory.changes[count:])
    identity = [receiver.name, sequence, [change.model_dump(mode="json") for change in changes]]
    return Notification(
        id=blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest(),
        sequence=sequence,
        text=notification_text(changes, len(still_open), report_url),
        report_url=report_url,
        changes=changes,
        open=still_open[:MOST_CHANGES],
        open_total=len(still_open),
    )


def _open_after(memory: ReceiverMemory, later: Sequence[FindingChange]) -> list[StillOpen]:
    """Return what is open for a receiver that does not know the ``later`` changes yet, the newest first."""
    known = {change.key: (change, change.verdict) for change in memory.open}
    for change in later:
        known.pop(change.key, None)
        if change.was:
            known[change.key] = change, change.was
    found = [
        StillOpen(stack=change.stack, topic=change.topic, check=change.check, verdict=verdict, since=change.since)
        for change, verdict in known.values()
        if verdict
    ]
    return sorted(found, key=lambda each: (-each.since, each.topic, each.check))
