"""An ordered, durable queue of JSON payloads in one file, delivered by one thread with exponential back-off.

The file also has the state of its owner. ``update`` replaces both in one step, so a killed process loses no payload
that belongs to a state, and adds none twice. A payload leaves the file after its delivery: if the process is killed in
between, the same payload is delivered once more, with the same id.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from topicwarden.model.field_types import StrictModel
from topicwarden.notices.post_request import PostOutcome

FIRST_PAUSE_S: Final = 1.0
"""The pause after a failed delivery; each further pause is twice as long."""
LONGEST_PAUSE_S: Final = 300.0
REPEAT_S: Final = 60.0
"""How often the state is sent again to a receiver that forgets."""


class OutboxEntry(StrictModel):
    """A payload, and the id that all its deliveries have."""

    id: str
    payload: dict[str, Any]


class OutboxContents(StrictModel):
    """Everything in the file: the state of the owner, and the payloads to deliver, the oldest first.

    The first entry may have been delivered already: it must not change.
    """

    version: Literal[1] = 1
    sequence: int = 0
    state: dict[str, Any] = Field(default={})
    entries: list[OutboxEntry] = Field(default=[])


@dataclass(frozen=True)
class ReceiverStatus:
    """The deliveries to one receiver so far. Counts are of this process, except for ``pending``."""

    pending: int = 0
    delivered: int = 0
    dropped: int = 0
    last_error: str | None = None


class Outbox:
    """The queue in ``file``, and the thread that delivers it.

    ``deliver`` sends an entry; it also gets the latest state. ``repeat``, if given, sends the state again every
    ``REPEAT_S`` seconds while no entry is pending; it returns None if there is nothing to send.
    """

    def __init__(
        self,
        file: Path,
        deliver: Callable[[OutboxEntry, dict[str, Any]], PostOutcome],
        repeat: Callable[[dict[str, Any]], PostOutcome | None] | None = None,
    ) -> None:
        """Read ``file``. A file that cannot be read is renamed, and the queue begins empty."""
        self._file, self._deliver, self._repeat = file, deliver, repeat
        self._changed = threading.Condition()
        self._status = ReceiverStatus()
        self._contents = self._read()
        self._not_before = self._repeat_at = time.monotonic()
        self._failures = 0
        self._ending = self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"outbox-{file.stem}", daemon=True)

    def start(self) -> None:
        """Start to deliver."""
        self._thread.start()

    def update(self, change: Callable[[OutboxContents], OutboxContents]) -> None:
        """Replace the contents by what ``change`` returns, durably. Never waits for a receiver."""
        with self._changed:
            self._contents = change(self._contents)
            self._save()
            self._repeat_at = time.monotonic()
            self._changed.notify()

    def status(self) -> ReceiverStatus:
        """Return the present state of the deliveries."""
        with self._changed:
            return replace(self._status, pending=len(self._contents.entries))

    def note(self, error: str) -> None:
        """Show ``error`` as the last one."""
        with self._changed:
            self._status = replace(self._status, last_error=error)

    def end(self) -> None:
        """Stop once everything pending is delivered, or a delivery fails."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def close(self, grace_s: float) -> None:
        """Stop after at most ``grace_s`` seconds.

        The file does not change afterwards, even if a delivery still waits for its answer.
        """
        self.end()
        if self._thread.ident is not None:
            self._thread.join(grace_s)
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            entry, state = work
            try:
                outcome = self._deliver(entry, state) if entry else self._repeated(state)
            except Exception as error:  # noqa: BLE001 -- a bug in one payload must not stop the others
                outcome = PostOutcome(f"a notification is lost: it cannot be written ({type(error).__name__})")
            with self._changed:
                if self._closed:
                    return
                self._finish(entry, outcome)

    def _next(self) -> tuple[OutboxEntry | None, dict[str, Any]] | None:
        """Wait for the next entry, or None for the state, and return it with the state. Return None at the end."""
        with self._changed:
            while not self._closed:
                now, entries = time.monotonic(), self._contents.entries
                if self._ending and (not entries or self._not_before > now):
                    return None
                at = self._not_before if entries else max(self._not_before, self._repeat_at)
                if entries or self._repeat:
                    if at <= now:
                        return (entries[0] if entries else None), self._contents.state
                    self._changed.wait(at - now)
                else:
                    self._changed.wait()
        return None

    def _repeated(self, state: dict[str, Any]) -> PostOutcome | None:
        return self._repeat(state) if self._repeat else None

    def _finish(self, entry: OutboxEntry | None, outcome: PostOutcome | None) -> None:
        now = time.monotonic()
        if outcome is not None and outcome.error is not None and outcome.repeat:
            pause = min(FIRST_PAUSE_S * 2 ** min(self._failures, 20), LONGEST_PAUSE_S)
            self._failures += 1
            self._not_before = now + max(pause, outcome.pause_s)
            self._status = replace(self._status, last_error=outcome.error)
            return
        self._failures, self._repeat_at = 0, now + REPEAT_S
        error = outcome.error if outcome else self._status.last_error
        self._status = replace(self._status, last_error=error)
        if entry is None:
            return
        status = self._status
        counted = (status.delivered, status.dropped + 1) if error else (status.delivered + 1, status.dropped)
        self._status = replace(status, delivered=counted[0], dropped=counted[1])
        self._contents = self._contents.model_copy(update={"entries": self._contents.entries[1:]})
        self._save()

    def _read(self) -> OutboxContents:
        try:
            return OutboxContents.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return OutboxContents()
        except (OSError, ValidationError):
            with suppress(OSError):
                self._file.replace(self._file.with_suffix(".damaged"))
            self._status = ReceiverStatus(
                last_error=f"{self._file.name} is damaged and was renamed; all open findings are reported again"
            )
            return OutboxContents()

    def _save(self) -> None:
        """Write the file. If this fails, deliveries continue from memory, and the next change writes it again."""
        draft = self._file.with_suffix(".tmp")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._contents.model_dump_json().encode())
                file.flush()
                os.fsync(descriptor)
            draft.replace(self._file)
            folder = os.open(self._file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except (OSError, ValueError) as error:  # ValueError: text that is not Unicode
            reason = (getattr(error, "strerror", None) or type(error).__name__).lower()
            self._status = replace(self._status, last_error=f"{self._file.name} cannot be written: {reason}")
