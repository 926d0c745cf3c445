"""Who holds Pulumi's lock, from what Pulumi itself said; the real thing is in tests/engine/importing/test_kills.py."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from subprocess import CompletedProcess

import pytest

from topicwarden.deploy.backend_locks import LockHolder, lock_holders, run_past_lost_locks
from topicwarden.model.problem import Refusal

SAID = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete \
the lock file with `pulumi cancel`.
  s3://state/.pulumi/locks/organization/shop/dev/0131.json: created by ci@{host} (pid {pid}) at 2026-11-21T06:26:42Z
"""


def gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_holder_is_read() -> None:
    [holder] = lock_holders(SAID.format(host="build-7", pid=20023))
    assert holder == LockHolder("ci", "build-7", 20023, "2026-11-21T06:26:42Z")
    assert lock_holders("error: no stack named 'dev' found") == ()


def test_only_a_process_of_this_machine_can_be_known_to_be_gone() -> None:
    here = socket.gethostname()
    assert LockHolder("ci", here, gone(), "").lost
    assert not LockHolder("ci", "another", gone(), "").lost
    # The number is of a process again, which is no Pulumi.
    assert LockHolder("ci", here, os.getpid(), "").lost


def test_a_lock_of_another_machine_is_never_ended() -> None:
    asked: list[tuple[str, ...]] = []

    def run(*arguments: str) -> CompletedProcess[str]:
        asked.append(arguments)
        return CompletedProcess(arguments, 1, "", SAID.format(host="build-7", pid=7))

    with pytest.raises(Refusal, match=r"held by ci@build-7 \(process 7\) since 2026-11-21T06:26:42Z"):
        run_past_lost_locks(run, "up")
    assert asked == [("up",)]
