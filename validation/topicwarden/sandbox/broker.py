"""One broker: its folder, its process, and what it says when it dies."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.sandbox.broker_process import BrokerProcess, noted, spawn
from topicwarden.sandbox.jvm import Jvm

_THROWN = re.compile(r"^(Caused by: )?[\w.$]+(Exception|Error)\b")
_REPORTED = re.compile(r"\] (ERROR|FATAL) ")


class BrokerCondition(StrEnum):
    """``stopped``: in order, or never started. ``killed``: by ``kill``, or an end that nobody asked the sandbox for."""

    RUNNING = "running"
    STOPPED = "stopped"
    KILLED = "killed"


@dataclass(frozen=True)
class Broker:
    """One broker in the folder ``directory``, running or not."""

    directory: Path

    @property
    def data(self) -> Path:
        """Kafka's ``log.dirs``: the records, and the checkpoints of cleaner and recovery."""
        return self.directory / "data"

    @property
    def properties(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def console(self) -> Path:
        return self.directory / "console.log"

    @property
    def process(self) -> BrokerProcess | None:
        """The process last started here, alive or not; None after an orderly end."""
        return noted(self._pid_file)

    @property
    def condition(self) -> BrokerCondition:
        process = self.process
        if process is None:
            return BrokerCondition.STOPPED
        return BrokerCondition.RUNNING if process.alive else BrokerCondition.KILLED

    def owner(self) -> str | None:
        """The id of the cluster that the data here belong to (``meta.properties``); None where unformatted."""
        try:
            text = (self.data / "meta.properties").read_text(encoding="latin-1")
        except FileNotFoundError:
            return None
        found = re.search(r"^cluster\.id=(.*)$", text, re.MULTILINE)
        return found[1].strip() if found else ""

    def format(self, jvm: Jvm, cluster_id: str) -> subprocess.Popen[str]:
        """Begins to make the folder a part of the cluster, with Kafka's own StorageTool; to be waited for."""
        command = jvm.tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self.properties))
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def start(self, jvm: Jvm, heap: str) -> None:
        """Starts the process; the log of the run before is kept beside the new one."""
        if self.log.exists():
            self.log.replace(self.directory / "server.log.previous")
        spawn(jvm.broker(self.directory, heap, self.properties), self.console, self._pid_file)

    def signal(self, number: signal.Signals) -> None:
        if process := self.process:
            process.send(number)

    def ended_within(self, seconds: float) -> bool:
        process = self.process
        return process is None or process.ended_within(seconds)

    def forget(self) -> None:
        """Notes that the process ended in order."""
        self._pid_file.unlink(missing_ok=True)

    def require_alive(self) -> None:
        """Refuses a broker that has died, with its last words."""
        process = self.process
        if process is None or not process.alive:
            raise Refusal(f"{self.directory.name} died: {self.last_words()}; see {self.log}")

    def last_words(self) -> str:
        """The last line of its logs that says why it ended."""
        return telling(_text(self.log) + _text(self.console))

    @property
    def _pid_file(self) -> Path:
        return self.directory / "pid"


def telling(output: str) -> str:
    """The line of a Java program's output that names the failure: the last exception, error, or plain line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for sort in (_THROWN, _REPORTED):
        found = [line for line in lines if sort.search(line)]
        if found:
            return found[-1]
    said = [line for line in lines if not line.startswith(("at ", "..."))]
    return said[-1] if said else "it said nothing"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
