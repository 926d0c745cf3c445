"""Pulumi's lock on a stack in a backend of files (``file://``, S3, GCS, Azure), and what is left of one by a kill.

Such a backend writes a file a lock, with who holds it, and never removes one that lost its process; ``pulumi`` then
refuses, in the words that are read here (``backend/diy/lock.go``). Pulumi Cloud ends a lost update by itself.
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
"""``pulumi`` with these arguments, for one stack."""

_HELD: Final = re.compile(r"created by (\S+)@(\S+) \(pid ([0-9]+)\) at (\S+)")
_LOCKED: Final = "the stack is currently locked by"
_ELSEWHERE: Final = "Another update is currently in progress"


@dataclass(frozen=True)
class LockHolder:
    """Who took a lock: a user on a host, the process there, and when, as Pulumi writes it."""

    user: str
    host: str
    pid: int
    since: str

    @property
    def lost(self) -> bool:
        """Whether the process was one of this machine and is gone; what runs under its number now may be another."""
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


def holders(said: str) -> tuple[LockHolder, ...]:
    """Who holds the locks that ``pulumi`` complained of; nobody where it complained of something else."""
    if _LOCKED not in said:
        return ()
    return tuple(LockHolder(user, host, int(pid), since) for user, host, pid, since in _HELD.findall(said))


def past_lost_locks(run: Run, *arguments: str) -> CompletedProcess[str]:
    """``pulumi`` with ``arguments``, once more after ``pulumi cancel`` where only locks of lost processes were there.

    Refuses, with who holds it, where a live process, or one of another machine, does.
    """
    done = run(*arguments)
    said = done.stdout + done.stderr
    if not done.returncode:
        return done
    if _ELSEWHERE in said:
        raise Refusal("another update of this stack is in progress, says Pulumi's backend: wait for it, then try again")
    found = holders(said)
    if not found:
        return done
    if alive := [str(holder) for holder in found if not holder.lost]:
        raise Refusal(
            f"Pulumi's lock on the stack is held by {', '.join(alive)}: wait for it; "
            "if that process is no more, `pulumi cancel` ends its lock"
        )
    cancelled = run("cancel", "--yes")
    if cancelled.returncode:
        raise Refusal(f"the lock that a killed Pulumi left cannot be ended: {cancelled.stderr.strip()}")
    return run(*arguments)
