"""Run one broker that rolls, cleans, deletes and aborts expired transactions within seconds, in its own folder.

The broker has three modes: everything works; the cleaner is off; all background tasks are blocked.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.projects import borrowing_cache, project_of
from tests.support.restricted_user import AUTHORIZER
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.project import Project

BROKER = 1
INTERVAL_MS = 1_000
CHECKPOINT_MS = 200
TRANSACTION_MS = 2_000

WELL = {
    "log.retention.check.interval.ms": str(INTERVAL_MS),
    "log.initial.task.delay.ms": "2000",
    "log.segment.delete.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": str(CHECKPOINT_MS),
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.message.timestamp.after.max.ms": "9223372036854775807",
    "transaction.max.timeout.ms": str(TRANSACTION_MS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "min.insync.replicas": "1",
} | AUTHORIZER
CLEANER_OFF = WELL | {"log.cleaner.enable": "false"}
STUCK = CLEANER_OFF | {
    # One thread runs all background tasks, so the tests only need to block this thread; see ``Room.holding``.
    "background.threads": "1",
    "log.initial.task.delay.ms": "100",
}


@dataclass(frozen=True)
class Room:
    """A broker, the project of its audits, and a folder for the audit history."""

    project: Project
    sandbox: Sandbox
    folder: Path

    @property
    def servers(self) -> list[str]:
        return self.sandbox.bootstrap_servers

    @property
    def connection(self) -> Connection:
        return Connection(tuple(self.servers), tls=False)

    @property
    def data(self) -> Path:
        return self.sandbox.log_dir(BROKER)

    def restart(self, settings: dict[str, str], kill: bool = False) -> None:
        """Stop the broker, cleanly or as in a crash, and start it with these settings."""
        (self.sandbox.kill if kill else self.sandbox.stop)(BROKER)
        self.sandbox.up(brokers=1, overrides=settings)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Block the only background thread of a ``STUCK`` broker on its disk, as a hanging mount would.

        The broker opens a file before it writes a checkpoint. Here, that file is a pipe without a reader. If the broker
        is writing a checkpoint at that moment, it renames the pipe and is not blocked. Then a new pipe is created.
        """
        pipe = self.data / "log-start-offset-checkpoint.tmp"
        for _ in range(10):
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            time.sleep(5 * CHECKPOINT_MS / 1000)
            if pipe.is_fifo():
                break
        else:
            raise AssertionError("the broker's background thread is not held")
        try:
            yield
        finally:
            pipe.unlink(missing_ok=True)


@contextmanager
def room(folder: Path) -> Iterator[Room]:
    """Yield a running broker; stop it and delete its data on exit."""
    before = os.environ.get("TOPICWARDEN_CACHE")
    os.environ["TOPICWARDEN_CACHE"] = str(borrowing_cache(folder / "cache"))
    try:
        project = project_of(folder / "project", {"s.yaml": "{partitions: 1, replication_factor: 1}"})
        sandbox = sandbox_of(project)
        try:
            sandbox.up(brokers=1, overrides=WELL, heap="512m")
            yield Room(project, sandbox, folder)
        finally:
            sandbox.down(remove=True)
    finally:
        if before is None:
            os.environ.pop("TOPICWARDEN_CACHE", None)
        else:
            os.environ["TOPICWARDEN_CACHE"] = before


def ended(_: int, __: object) -> None:
    """Exit cleanly after a signal, so that no broker keeps running."""
    raise KeyboardInterrupt


def end_in_order() -> None:
    signal.signal(signal.SIGTERM, ended)
