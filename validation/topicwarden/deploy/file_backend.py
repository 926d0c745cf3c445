"""Pulumi's file backends (``file://``, S3, GCS, Azure): locks of killed processes, and files that no command can read.

A file backend writes one file per lock with the lock's holder, and never removes the lock of a process that has died.
``pulumi`` then fails with a message that is parsed here (``backend/diy/lock.go``). Pulumi Cloud itself ends an update
whose process has died.

The backend writes a state's attributes (``dev.json.attrs``) in place, after it has emptied the file (gocloud,
``blob/fileblob/attrs.go``). If ``pulumi`` is killed in between, every later command fails with "failed to load
checkpoint: EOF". The state itself is complete, because its file is replaced at once. The attributes are its content
type and checksum, and may be missing.

A lock is first written to a temporary file in the folder of the locks. If the disk is full, or ``pulumi`` is killed,
this file stays, and every later command takes it for a lock: "unexpected end of JSON input". Its writer holds no lock.
A lock itself is replaced at once, so one that is empty is what a power failure left of it.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final, TypeAlias
from urllib.parse import unquote

from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

Run: TypeAlias = Callable[..., CompletedProcess[str]]
"""Runs ``pulumi`` with arguments, for one stack."""

_HOLDER: Final = re.compile(r"created by (\S+)@(\S+) \(pid ([0-9]+)\) at (\S+)")
_LOCKED: Final = "the stack is currently locked by"
_INITIAL_NAMESPACE: Final = 4026531836
"""The number of the namespace of processes that are in no container (Linux's ``PROC_PID_INIT_INO``)."""
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
        """True if the process ran on this machine and has certainly ended.

        A container may have the name of its host and process ids of its own. So on Linux only a process outside of all
        containers can tell, which sees the ids that processes have inside (``NSpid``).
        """
        if self.host != socket.gethostname():
            return False
        if sys.platform == "linux":
            return _sees_all_processes() and self.pid not in _pids_of_pulumi()
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid}) since {self.since}"


def _sees_all_processes() -> bool:
    """Return whether this process is in no container, and /proc does not hide the processes of other users."""
    try:
        outside = Path("/proc/self/ns/pid").stat().st_ino == _INITIAL_NAMESPACE
        return outside and bool(Path("/proc/1/status").read_bytes())
    except OSError:
        return False


def _pids_of_pulumi() -> set[int]:
    """Return the ids of the running `pulumi` processes, as each of them sees its own."""
    pids = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended since
            continue
        if fields["Name"].strip().startswith("pulumi"):
            pids.add(int(fields["NSpid"].split()[-1]))
    return pids


def lock_holders(output: str) -> tuple[LockHolder, ...]:
    """Return the holders of the locks in the ``output`` of ``pulumi``; empty if it failed for another reason."""
    if _LOCKED not in output:
        return ()
    return tuple(LockHolder(user, host, int(pid), since) for user, host, pid, since in _HOLDER.findall(output))


def run_past_lost_locks(run: Run, stack: str, *arguments: str) -> CompletedProcess[str]:
    """Run ``pulumi`` with ``arguments``; if only locks of dead processes are in the way, cancel them and run it again.

    ``stack`` is the one for which ``run`` runs it. Refuses with the holder's name if a live process, or a process on
    another machine, holds the lock.
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
            "if that process has ended, which cannot be seen from another machine or from a container, "
            f"`pulumi cancel {stack}` removes its lock"
        )
    cancelled = run("cancel", "--yes")
    if cancelled.returncode:
        raise Refusal(f"`pulumi cancel` could not remove the lock of a killed Pulumi: {_output(cancelled)}")
    return run(*arguments)


def _output(done: CompletedProcess[str]) -> str:
    """Return what ``pulumi`` printed: a caller may have it write its errors to the standard output."""
    return (done.stdout + done.stderr).strip()


_LIVE_WRITE_S: Final = 5.0  # a running `pulumi` fills the file within milliseconds


def remove_broken_files(project: Project, stack: str, backend: str) -> list[Path]:
    """Remove the emptied attributes, and the unfinished and emptied locks of ``stack``, and return their files.

    ``backend`` is the URL of the backend. Only ``file://`` has such files.
    """
    if not backend.startswith("file://"):
        return []
    # Pulumi takes all that follows as a path, and not the first part as a host: `pulumi login --local` is `file://~`.
    path = unquote(backend.removeprefix("file://").partition("?")[0])
    root = project.root / Path(path).expanduser() / ".pulumi"
    owner, name = str(project_settings(project).get("name")), stack.rpartition("/")[2]
    attributes = (root / "stacks" / owner).glob(f"{name}.json*.attrs")
    locks = root / "locks" / "organization" / owner / name
    unfinished = frozenset(locks.glob("*.json.*.tmp"))
    removed = []
    for file in (*attributes, *locks.glob("*.json"), *unfinished):
        with suppress(FileNotFoundError):  # a running `pulumi` has replaced or renamed it
            status = file.stat()
            broken = file in unfinished or status.st_size == 0
            if broken and time.time() - status.st_mtime > _LIVE_WRITE_S:
                file.unlink()
                removed.append(file)
    return removed
