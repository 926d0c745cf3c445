"""Run `topicwarden watch` as a process, and read its pages."""

from __future__ import annotations

import http.client
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

from tests.support.command import COMMAND

START_S = 60.0


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

    def end(self, number: signal.Signals = signal.SIGTERM, limit_s: float = 10.0) -> float:
        """Send a signal, and return the seconds until the process ended. Raises TimeoutExpired after ``limit_s``."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(limit_s)
        seconds = time.monotonic() - began
        self.reader.join(10)
        return seconds


@contextmanager
def watching(folder: Path, *options: str | Path) -> Iterator[RunningWatch]:
    """Run a watch of the stack ``dev`` in the project ``folder`` for the block, once it listens; then kill it -9."""
    command = [COMMAND, "watch", "--stack", "dev", "--listen", "127.0.0.1:0", *options]
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


def get(port: int, path: str, method: str = "GET", **headers: str) -> Reply:
    """Send one request to a server on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read().decode())
    finally:
        connection.close()
