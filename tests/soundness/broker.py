"""One broker in a hurry, in a folder of its own: it rolls, cleans, deletes and gives transactions up within seconds.

Three modes, by what is broken: nothing; the cleaner; everything that works in the background.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.authorizer import AUTHORIZER
from tests.support.projects import borrowing_cache, project_of
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.connection import Connection
from topicwarden.model.project import Project
from topicwarden.sandbox.local_cluster import Sandbox

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
    # One thread does all that is done in the background, so that it is enough to hold that one; see ``hold``.
    "background.threads": "1",
    "log.initial.task.delay.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
}


@dataclass(frozen=True)
class Room:
    """A broker, the project that its audits run in, and a folder to remember in."""

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
        """Ends the broker, in order or as a crash would, and starts it with these settings."""
        (self.sandbox.kill if kill else self.sandbox.stop)(BROKER)
        self.sandbox.up(brokers=1, overrides=settings)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """The one background thread of a ``STUCK`` broker waits on its disk, as for a mount that hangs.

        A checkpoint is written to a file that is opened first; here that is a pipe which nobody reads. A broker that
        is just writing one moves the pipe away, and does not wait on it: then there is another.
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
    """A running broker; it is gone afterwards, with its data."""
    before = os.environ.get("TOPICWARDEN_CACHE")
    os.environ["TOPICWARDEN_CACHE"] = str(borrowing_cache(folder / "cache"))
    try:
        project = project_of(folder / "project", {"s.yaml": "{partitions: 1, replication_factor: 1}"})
        sandbox = sandbox_of(project)
        try:
            sandbox.up(brokers=1, overrides=WELL, heap="384m")
            yield Room(project, sandbox, folder)
        finally:
            sandbox.down(remove=True)
    finally:
        if before is None:
            os.environ.pop("TOPICWARDEN_CACHE", None)
        else:
            os.environ["TOPICWARDEN_CACHE"] = before


def ended(_: int, __: object) -> None:
    """Ends in order where one is asked to, so that no broker stays behind."""
    raise KeyboardInterrupt


def end_in_order() -> None:
    signal.signal(signal.SIGTERM, ended)
