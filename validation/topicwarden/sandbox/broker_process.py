"""Processes that outlive the command that started them, known by pid and by when they started."""

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


class BrokerProcess(BaseModel):
    """A pid and the start time of its process: a pid alone may by now be another program's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        """Signals the process, unless it is gone."""
        if not self.alive:
            return
        with suppress(ProcessLookupError):
            try:
                os.kill(self.pid, number)
            except PermissionError as error:
                raise Refusal(f"process {self.pid} belongs to another user: end it as that user") from error

    def ended_within(self, seconds: float) -> bool:
        """Waits for the end of the process, at most ``seconds``; whether it came."""
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


def spawn(command: list[str], console: Path, pid_file: Path) -> BrokerProcess:
    """Starts ``command`` in a session of its own, its output in ``console``, and notes it in ``pid_file``."""
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
    process = BrokerProcess(pid=pid, started=started(pid) or "")
    pid_file.write_text(process.model_dump_json(), encoding="utf-8")
    return process


def noted(pid_file: Path) -> BrokerProcess | None:
    """The process of a pid file; None where there is no such file, or nothing in it to go by."""
    try:
        return BrokerProcess.model_validate_json(pid_file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def started(pid: int) -> str | None:
    """When process ``pid`` started, to be compared only; None where it has ended."""
    with suppress(ChildProcessError):  # our own child stays a zombie, with its pid, until it is waited for
        os.waitpid(pid, os.WNOHANG)
    return _from_proc(pid) if (_PROC / "self" / "stat").exists() else _from_ps(pid)


def _from_proc(pid: int) -> str | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    state, ticks_since_boot = fields[0], fields[19]
    return None if state in "ZX" else ticks_since_boot


def _from_ps(pid: int) -> str | None:
    environment = os.environ | {"LC_ALL": "C", "TZ": "UTC"}
    command = ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout
    state, _, start = answer.strip().partition(" ")
    return None if not state or state.startswith("Z") else " ".join(start.split())
