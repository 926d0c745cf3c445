"""Test that Pulumi's output identifies the lock holder; tests/engine/importing/test_kills.py uses real locks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from topicwarden.deploy.backend_locks import LockHolder, lock_holders, run_past_lost_locks
from topicwarden.model.problem import Refusal

LOCKED = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete \
the lock file with `pulumi cancel`.
  s3://state/.pulumi/locks/organization/shop/dev/0131.json: created by ci@{host} (pid {pid}) at 2026-11-21T06:26:42Z
"""


def gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_lock_holder_is_read() -> None:
    [holder] = lock_holders(LOCKED.format(host="build-7", pid=20023))
    assert holder == LockHolder("ci", "build-7", 20023, "2026-11-21T06:26:42Z")
    assert lock_holders("error: no stack named 'dev' found") == ()


def test_only_a_process_of_this_machine_can_be_known_to_have_ended() -> None:
    here = socket.gethostname()
    assert LockHolder("ci", here, gone(), "").lost
    assert not LockHolder("ci", "another", gone(), "").lost
    # The process id now belongs to another process, which is not Pulumi.
    assert LockHolder("ci", here, os.getpid(), "").lost


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces of processes")
def test_a_pulumi_process_in_a_container_with_the_host_name_of_its_host_is_alive(tmp_path: Path) -> None:
    pulumi = shutil.copy("/bin/sleep", tmp_path / "pulumi")
    process = subprocess.Popen(["unshare", "--user", "--map-root-user", "--fork", "--pid", pulumi, "60"])
    try:
        while not (children := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
            if process.poll() is not None:
                pytest.skip("this user may not create a namespace")
        inside = next(line for line in Path(f"/proc/{children[0]}/status").read_text().splitlines() if "NSpid" in line)
        assert inside.split()[-1] == "1"
        while Path(f"/proc/{children[0]}/comm").read_text().strip() != "pulumi":
            pass
        assert not LockHolder("ci", socket.gethostname(), 1, "").lost
    finally:
        process.kill()
        for child in children:
            os.kill(int(child), signal.SIGKILL)


def test_a_lock_of_another_machine_is_never_ended() -> None:
    requested: list[tuple[str, ...]] = []

    def run(*arguments: str) -> CompletedProcess[str]:
        requested.append(arguments)
        return CompletedProcess(arguments, 1, "", LOCKED.format(host="build-7", pid=7))

    with pytest.raises(Refusal, match=r"held by ci@build-7 \(process 7\) since 2026-11-21T06:26:42Z"):
        run_past_lost_locks(run, "up")
    assert requested == [("up",)]
