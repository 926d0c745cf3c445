"""Pulumi's stack locks in a file backend (``file://``, S3, GCS, Azure), and recovery from locks of killed processes.

A file backend writes one file per lock with the lock's holder, and never removes the lock of a process that has died.
``pulumi`` then fails with a message that is parsed here (``backend/diy/lock.go``). Pulumi Cloud itself ends an update
whose process has died.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final, TypeAlias

from topicwarden.model.problem import Refusal

Run: TypeAlias = Callable[..., CompletedProcess[str]]
"""Runs ``pulumi`` with arguments, for one stack."""

_HOLDER: Final = re.compile(r"created by (\S+)@(\S+) \(pid ([0-9]+)\) at (\S+)")
_LOCKED: Final = "the stack is currently locked by"
_ELSEWHERE: Final = "Another update is currently in progress"


@dataclass(frozen=True)
class LockHolder:
    """The holder of a lock, as Pulumi writes it: user, host, process id, and time."""

    user: str
    host: str
    pid: int
    since: str

    @property
    def lost(self) -> bool:
        """True if the process ran on this machine and has ended, or another program now has its process id."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        command = Path(f"/proc/{self.pid}/comm")
        return command.is_file() and not command.read_text().startswith("pulumi")

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid}) since {self.since}"


def lock_holders(output: str) -> tuple[LockHolder, ...]:
    """Return the holders of the locks in the ``output`` of ``pulumi``; empty if it failed for another reason."""
    if _LOCKED not in output:
        return ()
    return tuple(LockHolder(user, host, int(pid), since) for user, host, pid, since in _HOLDER.findall(output))


def run_past_lost_locks(run: Run, *arguments: str) -> CompletedProcess[str]:
    """Run ``pulumi`` with ``arguments``; if only locks of dead processes are in the way, cancel them and run it again.

    Refuses with the holder's name if a live process, or a process on another machine, holds the lock.
    """
    done = run(*arguments)
    output = _output(done)
    if not done.returncode:
        return done
    if _ELSEWHERE in output:
        raise Refusal("Pulumi's backend reports another update of this stack in progress: wait for it, then try again")
    holders = lock_holders(output)
    if not holders:
        return done
    if alive := [str(holder) for holder in holders if not holder.lost]:
        raise Refusal(
            f"Pulumi's lock on the stack is held by {', '.join(alive)}: wait for it; "
            "if that process has ended, `pulumi cancel` removes its lock"
        )
    cancelled = run("cancel", "--yes")
    if cancelled.returncode:
        raise Refusal(f"`pulumi cancel` could not remove the lock of a killed Pulumi: {_output(cancelled)}")
    return run(*arguments)


def _output(done: CompletedProcess[str]) -> str:
    """Return what ``pulumi`` printed: a caller may have it write its errors to the standard output."""
    return (done.stdout + done.stderr).strip()
