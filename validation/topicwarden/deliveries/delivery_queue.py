"""A durable, ordered queue of payloads, with a state of its owner, in one file of SQLite that processes may share."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

BUSY_S: Final = 10.0
"""How long a transaction waits for those of other threads and processes, which last milliseconds."""
_VERSION: Final = 1
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS payloads (number INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS owner (state TEXT NOT NULL)",
    f"PRAGMA user_version = {_VERSION}",
)


class QueuedPayload(NamedTuple):
    """A payload, and its number in the queue, which grows and never returns."""

    number: int
    content: bytes


class DeliveryQueue:
    """The queue in ``file``. Everything raises OSError if the file cannot be used.

    A killed process leaves each transaction complete or undone. ``damaged``: the file was no queue of this version, so
    it has another name now, and the queue began empty.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.damaged = False
        try:
            self.damaged = file.exists() and not self._is_usable()
            if self.damaged:
                file.replace(file.with_suffix(".damaged"))
        except (OSError, sqlite3.Error):
            return  # the first transaction reports the reason

    @contextmanager
    def transaction(self) -> Iterator[QueueTransaction]:
        """Yield a transaction. Its changes are written durably in one step at the end, or not at all if it raises."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            database = self._opened()
            try:
                database.execute("BEGIN IMMEDIATE")
                yield QueueTransaction(database)
                database.execute("COMMIT")
            finally:
                database.close()
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error)) from error

    def oldest(self) -> QueuedPayload | None:
        """Return the next payload; None if the queue is empty."""
        if not self.file.exists():
            return None
        with self.transaction() as queue:
            return queue.oldest()

    def state(self) -> str:
        """Return the state of the owner; empty if there is none."""
        if not self.file.exists():
            return ""
        with self.transaction() as queue:
            return queue.state

    def __len__(self) -> int:
        if not self.file.exists():
            return 0
        with self.transaction() as queue:
            return queue.size[0]

    def _is_usable(self) -> bool:
        with suppress(sqlite3.OperationalError):  # no damage: for example, another process writes, or the disk is full
            database = sqlite3.connect(self.file, timeout=BUSY_S)
            try:
                (version,) = database.execute("PRAGMA user_version").fetchone()
                return version in (0, _VERSION) and database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                return False
            finally:
                database.close()
        return True

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.file, timeout=BUSY_S, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = EXTRA")
            if database.execute("PRAGMA user_version").fetchone() == (0,):
                database.execute("PRAGMA auto_vacuum = FULL")
                database.execute("BEGIN IMMEDIATE")
                for statement in _TABLES:
                    database.execute(statement)
                database.execute("COMMIT")
                self.file.chmod(0o600)
        except BaseException:
            database.close()
            raise
        return database


class QueueTransaction:
    """The contents of a queue, which no other transaction changes meanwhile."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @property
    def state(self) -> str:
        """The state of the owner; empty if there is none."""
        row = self._database.execute("SELECT state FROM owner").fetchone()
        return row[0] if row else ""

    @state.setter
    def state(self, text: str) -> None:
        self._database.execute("DELETE FROM owner")
        self._database.execute("INSERT INTO owner (state) VALUES (?)", (text,))

    @property
    def next_number(self) -> int:
        """The number that the next payload gets."""
        row = self._database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'payloads'").fetchone()
        return row[0] + 1 if row else 1

    @property
    def size(self) -> tuple[int, int]:
        """The number of payloads, and their bytes."""
        count, size = self._database.execute("SELECT count(*), sum(length(content)) FROM payloads").fetchone()
        return count, size or 0

    def append(self, content: bytes) -> None:
        """Append a payload."""
        self._database.execute("INSERT INTO payloads (content) VALUES (?)", (content,))

    def oldest(self) -> QueuedPayload | None:
        """Return the next payload; None if the queue is empty."""
        row = self._database.execute("SELECT number, content FROM payloads ORDER BY number LIMIT 1").fetchone()
        return QueuedPayload(*row) if row else None

    def payloads(self) -> list[QueuedPayload]:
        """Return all payloads, the oldest first."""
        return [QueuedPayload(*row) for row in self._database.execute("SELECT * FROM payloads ORDER BY number")]

    def remove(self, number: int) -> None:
        """Remove a payload, if another process has not done so."""
        self._database.execute("DELETE FROM payloads WHERE number = ?", (number,))

    def drop_oldest(self, most: int, most_bytes: int) -> int:
        """Remove the oldest payloads until at most ``most`` remain, in at most ``most_bytes``; return their number.

        The newest payload stays, even if it is larger.
        """
        dropped = 0
        while (size := self.size)[0] > most or (size[0] > 1 and size[1] > most_bytes):
            self._database.execute("DELETE FROM payloads WHERE number = (SELECT min(number) FROM payloads)")
            dropped += 1
        return dropped
