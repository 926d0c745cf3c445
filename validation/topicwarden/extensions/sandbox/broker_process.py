"""Processes that continue after the command that started them, identified by pid and start time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

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
