"""One broker: its folder, its process, and the reason for its end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.server_properties import HEADER
from topicwarden.model.problem import Refusal

_PROC = Path("/proc")
_PAUSE_S = 0.05


class BrokerProcess(BaseModel):
    """A pid and the start time of its process. The pid alone could have been reused by another program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return start_time(self.pid) == self.started

    def runs_another(self, file: Path) -> bool:
        """Return whether the process is alive and was started with another last argument than ``file``."""
        arguments = ""
        while self.alive and not (arguments := command_line(self.pid)):
            time.sleep(_PAUSE_S)  # a process that starts or ends has no arguments for a moment
        return bool(arguments) and not arguments.endswith(f" {file}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process if it is still running."""
        if not self.alive:
            return
        with suppress(ProcessLookupError):
            try:
                os.kill(self.pid, number)
            except PermissionError as error:
                raise Refusal(f"process {self.pid} belongs to another user: stop it as that user") from error

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the end of the process; return whether it has ended."""
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True


def spawn(command: list[str], console: Path, pid_file: Path) -> BrokerProcess:
    """Start ``command`` in a new session, with its output in the file ``console``; write its pid to ``pid_file``."""
    pid = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(console), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    process = BrokerProcess(pid=pid, started=start_time(pid) or "")
    pid_file.write_text(process.model_dump_json(), encoding="utf-8")
    return process


def read_pid_file(pid_file: Path) -> BrokerProcess | None:
    """Return the process that a pid file names; None if the file does not exist or is invalid."""
    try:
        return BrokerProcess.model_validate_json(pid_file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def start_time(pid: int) -> str | None:
    """Return the start time of process ``pid``, in a format that depends on the system; None if it has ended."""
    with suppress(ChildProcessError):  # a child of this process remains a zombie until it is waited for
        os.waitpid(pid, os.WNOHANG)
    return _from_proc(pid) if (_PROC / "self" / "stat").exists() else _from_ps(pid)


def command_line(pid: int) -> str:
    """Return the arguments of process ``pid``, separated by spaces; empty if it has ended."""
    if not (_PROC / "self" / "cmdline").exists():
        return _ps(pid, "args=")
    with suppress(FileNotFoundError, ProcessLookupError):
        return (_PROC / str(pid) / "cmdline").read_text(errors="surrogateescape").rstrip("\0").replace("\0", " ")
    return ""


def _from_proc(pid: int) -> str | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
        threads = len(os.listdir(_PROC / str(pid) / "task"))  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the program's name before it can contain spaces and brackets
    state, ticks_since_boot = fields[0], fields[19]
    # The first thread of a killed process can end before the others, which still hold the process's ports.
    return None if state in "ZX" and threads <= 1 else ticks_since_boot


def _from_ps(pid: int) -> str | None:
    state, _, start = _ps(pid, "stat=", "lstart=").partition(" ")
    return None if not state or state.startswith("Z") else " ".join(start.split())


def _ps(pid: int, *columns: str) -> str:
    environment = os.environ | {"LC_ALL": "C", "TZ": "UTC"}
    options = [option for column in columns for option in ("-o", column)]
    command = ["ps", "-ww", *options, "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout.strip()


META = "meta.properties"
"""Kafka's file with the ids of the cluster, the broker and the folder."""
_EXCEPTION = re.compile(r"^(Caused by: )?[\w.$]+(Exception|Error)\b")
_ERROR = re.compile(r"\] (ERROR|FATAL) ")


class BrokerCondition(StrEnum):
    """The state of a broker's process.

    ``STOPPED``: never started, or stopped by the sandbox. ``KILLED``: killed by ``Sandbox.kill``, or ended in another
    way without the sandbox.
    """

    RUNNING = "running"
    STOPPED = "stopped"
    KILLED = "killed"


@dataclass(frozen=True)
class Broker:
    """One broker, whose files are in the folder ``directory``. It need not be running."""

    directory: Path

    @property
    def data(self) -> Path:
        """Kafka's ``log.dirs``: the records, and the checkpoints of log cleaner and recovery."""
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
        """The process that was started last, running or not; None if the sandbox stopped it, or if it is another's."""
        process = read_pid_file(self._pid_file)
        return None if self.process_elsewhere else process

    @property
    def process_elsewhere(self) -> BrokerProcess | None:
        """The running process in the pid file if another folder started it: this one was copied or moved. Else None."""
        process = read_pid_file(self._pid_file)
        return process if process and process.runs_another(self.properties) else None

    @property
    def of_a_sandbox(self) -> bool:
        """True if a sandbox wrote the folder, and it is not a link."""
        return not self.directory.is_symlink() and _text(self.properties).startswith(HEADER)

    @property
    def condition(self) -> BrokerCondition:
        process = self.process
        if process is None:
            return BrokerCondition.STOPPED
        return BrokerCondition.RUNNING if process.alive else BrokerCondition.KILLED

    def cluster_id(self) -> str | None:
        """Return the id of the cluster that the data belongs to; None if the folder is not formatted.

        Source: ``meta.properties``.
        """
        try:
            text = (self.data / META).read_text(encoding="latin-1")
        except FileNotFoundError:
            return None
        found = re.search(r"^cluster\.id=(.*)$", text, re.MULTILINE)
        return found[1].strip() if found else ""

    def format(self, jvm: Jvm, cluster_id: str) -> subprocess.Popen[str]:
        """Start Kafka's StorageTool, which formats the folder for the cluster. The caller waits for its end."""
        command = jvm.tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self.properties))
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def format_like(self, other: Broker, cluster_id: str, node_id: int, directory_id: str) -> None:
        """Format the folder with the files that StorageTool wrote for ``other``, a broker with the same jars.

        Only ``meta.properties`` differs, in the three ids. It is written last: a folder without it is not formatted.
        Source: ``Formatter`` and ``MetaPropertiesEnsemble.Copier`` of Kafka.
        """
        ids = {"cluster.id": cluster_id, "node.id": str(node_id), "directory.id": directory_id}
        self.data.mkdir(parents=True, exist_ok=True)
        for file in other.data.iterdir():
            if file.name != META:
                shutil.copyfile(file, self.data / file.name)
        text = (other.data / META).read_text(encoding="latin-1")
        for name, value in ids.items():
            text = re.sub(rf"^{re.escape(name)}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        partial = self.directory / META
        partial.write_text(text, encoding="latin-1")
        partial.replace(self.data / META)

    def start(self, jvm: Jvm, heap: str) -> None:
        """Start the process. The log of the previous run is kept as ``server.log.previous``."""
        if self.log.exists():
            self.log.replace(self.directory / "server.log.previous")
        spawn(jvm.broker(self.directory, heap, self.properties), self.console, self._pid_file)

    def signal(self, number: signal.Signals) -> None:
        if process := self.process:
            process.send(number)

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` for the end of the process; return whether it has ended."""
        process = self.process
        return process is None or process.wait(seconds)

    def mark_stopped(self) -> None:
        """Record that the sandbox stopped the process."""
        self._pid_file.unlink(missing_ok=True)

    def require_alive(self) -> None:
        """Raise Refusal with the reason from the logs if the process has died."""
        process = self.process
        if process is None or not process.alive:
            raise Refusal(f"{self.directory.name} died: {self.failure()}; see {self.log}")

    def failure(self) -> str:
        """Return the line of the logs that best explains why the broker ended."""
        return failure_line(_text(self.log) + _text(self.console))

    @property
    def _pid_file(self) -> Path:
        return self.directory / "pid"


def failure_line(output: str) -> str:
    """Return the line of a Java program's output that names the failure: the last exception, error, or other line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (_EXCEPTION, _ERROR):
        matches = [line for line in lines if pattern.search(line)]
        if matches:
            return matches[-1]
    messages = [line for line in lines if not line.startswith(("at ", "..."))]
    return messages[-1] if messages else "no output"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
