"""Run `topicwarden watch` as a process, and read its pages."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from tests.support.clients import until
from tests.support.command import COMMAND
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing

ORDERS, LARGE, PLAIN, COMPACTED, SCRAPED = "orders.v1", "large.v1", "plain.v1", "compacted.v1", "scraped.v1"
"""The topics of ``tests/system/watch``."""
PAYLOAD = "secret-payload"
START_S = 120.0
READY_S = 300.0
END_S = 20.0
"""A watch ends within ten seconds; a slow machine takes longer to end its processes."""


@dataclass(frozen=True)
class Reply:
    """The answer of a watch's server."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class RunningWatch:
    """A process of `topicwarden watch`. ``lines`` has what it has printed on standard error until now."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reader: Thread = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Thread(target=self._collect, daemon=True)
        self.reader.start()

    def _collect(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def port(self) -> int:
        found = re.search(r"http://\S+:(\d+)", self.printed)
        return int(found[1]) if found else 0

    @property
    def printed(self) -> str:
        return "".join(self.lines)

    def get(self, path: str, **headers: str) -> Reply:
        return get(self.port, path, **headers)

    def metric(self, name: str, labels: str = "") -> float | None:
        """Return the value of a metric whose labels contain ``labels``; None if there is none."""
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(f"topicwarden_{name}{{") and labels in line:
                return float(line.rpartition(" ")[2])
        return None

    def wait_for_report(self, path: str = "/report.json") -> None:
        """Wait until an audit has finished."""
        until(lambda: self.get(path).status == 200, f"{path} of {self.printed}", READY_S)

    def audited(self, topic: str | None = None) -> int:
        """Return the records of ``topic``, or of all topics, in the last report."""
        topics = json.loads(self.get("/report.json").text)["topics"]
        chosen = [each for each in topics if topic in (None, each["name"])]
        return sum(partition["records"] or 0 for each in chosen for partition in each["partitions"])

    def end(self, number: signal.Signals = signal.SIGTERM, limit_s: float = END_S) -> float:
        """Send a signal, and return the seconds until the process ended. Raises TimeoutExpired after ``limit_s``."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(limit_s)
        seconds = time.monotonic() - began
        self.reader.join(10)
        return seconds


@contextmanager
def watching(
    folder: Path, *options: str | Path, stacks: tuple[str, ...] = ("--stack", "dev")
) -> Iterator[RunningWatch]:
    """Run a watch of ``stacks`` in the project ``folder`` for the block, once it listens; then kill it -9."""
    command = [COMMAND, "watch", *stacks, "--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        start_new_session=True,
    )
    running = RunningWatch(process)
    try:
        deadline = time.monotonic() + START_S
        while not running.port and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with its JVM
        process.wait()
        running.reader.join(10)


def write(sandbox: Sandbox, topic: str, records: int, *, keys: bool = True, value: str = PAYLOAD) -> None:
    """Write records with keys of their own, or without keys."""
    with writing(sandbox.bootstrap_servers) as writer:
        for number in range(records):
            writer.send(topic, f"key-{number}" if keys else None, value)


def get(port: int, path: str, method: str = "GET", **headers: str) -> Reply:
    """Send one request to a server on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read().decode())
    finally:
        connection.close()
