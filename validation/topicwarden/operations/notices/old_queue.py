"""Read the SQLite queue in which earlier versions kept what a receiver knew and what waited for it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path

from topicwarden.model.message_text import quoted
from topicwarden.operations.notices.finding_changes import ReceiverMemory, merge_changes
from topicwarden.operations.notices.notification import FindingChange, Notification, notification_text


class OldQueue:
    """The queue in ``file``, if there is one."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def memory(self) -> ReceiverMemory | None:
        """Return what the receiver knows and what waits for it; None if there is no queue, or a damaged one.

        The oldest notification keeps its id, because an attempt to deliver it may have arrived.
        """
        if not self.file.is_file():
            return None
        try:
            with closing(sqlite3.connect(f"{self.file.absolute().as_uri()}?mode=ro", uri=True)) as database:
                (state,) = database.execute("SELECT state FROM owner").fetchone() or ("{}",)
                rows = database.execute("SELECT content FROM payloads ORDER BY number")
                waiting = [json.loads(content) for (content,) in rows]
                (sequence,) = database.execute("SELECT max(seq) FROM sqlite_sequence").fetchone() or (0,)
            changes = [[FindingChange.model_validate(change) for change in each["changes"]] for each in waiting]
            memory = ReceiverMemory.model_validate(json.loads(state))
        except (sqlite3.Error, ValueError, KeyError, TypeError):
            return None
        first = None
        if waiting:
            first = Notification(
                id=waiting[0]["id"],
                sequence=waiting[0]["sequence"],
                text=notification_text(changes[0], len(memory.open), waiting[0]["report_url"]),
                report_url=waiting[0]["report_url"],
                changes=changes[0],
                open=[],
                open_total=len(memory.open),
            )
        later = merge_changes(change for each in changes[1:] for change in each)
        return memory.model_copy(update={"sending": first, "changes": later, "sequence": sequence or 0})

    def delete(self) -> None:
        """Delete the queue, after its contents are in the history."""
        for suffix in (".sqlite", ".lock"):
            with suppress(OSError):
                self.file.with_suffix(suffix).unlink(missing_ok=True)


def left_queues(folder: Path, receivers: Collection[str]) -> Iterator[str]:
    """Yield a line for each queue in ``folder`` that has changes for none of ``receivers``, or is damaged.

    The file gets another name, so the next call yields nothing about it.
    """
    for file in sorted(folder.glob("*.sqlite")):
        memory = OldQueue(file).memory()
        if memory is not None and file.stem in receivers:
            continue
        with suppress(OSError):
            renamed = file.replace(file.with_suffix(".unused"))
            if memory is None:
                yield f"{renamed} is a damaged queue of an earlier version; what waited in it is lost"
                continue
            waiting = [*(memory.sending.changes if memory.sending else ()), *memory.changes]
            topics = ", ".join(sorted({f"{change.check} on {change.topic}: {change.change}" for change in waiting}))
            if waiting:
                yield f"{renamed}: the stack has no receiver {quoted(file.stem)}; not delivered: {topics}"
