"""Test imports that are killed with ``kill -9`` at random times, and the locks that Pulumi then leaves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.engine.importing.conftest import UNDECLARED, Made, adopted, settings
from tests.support.projects import BIN, Shell
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "20261122"))

MOMENTS = {"started": 5.0, "staged": 0.01, "placed": 0.003, "locked": 1.0, "adopted": 0.1}
"""The stages of an import. Each has the longest delay in seconds before the import is killed."""


def descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def locks(shell: Shell) -> list[Path]:
    state = Path(shell.variables["PULUMI_BACKEND_URL"].removeprefix("file://"))
    return list((state / ".pulumi" / "locks").rglob("*.json*"))


def begun(shell: Shell, instant: str) -> bool:
    """Return whether an import has reached the stage ``moment``."""
    topics = shell.folder / "topics"
    state = Path(shell.variables["PULUMI_BACKEND_URL"].removeprefix("file://"), ".pulumi/stacks/topicwarden/dev.json")
    if instant == "staged":
        return any(topics.iterdir())
    if instant == "placed":
        return any(topics.glob("*.yaml"))
    if instant == "locked":
        return bool(locks(shell))
    return instant == "started" or "kafka:index/topic:Topic" in state.read_text()


def killed(shell: Shell, chance: random.Random) -> str:
    """Start an import and kill it shortly after a random stage; return the stage and the delay.

    In 70% of the cases, kill all processes, as if the machine had failed. Otherwise, kill only Python, so that
    ``pulumi`` keeps running.
    """
    instant, longest = chance.choice(list(MOMENTS.items()))
    after, whole = chance.uniform(0.0, longest), chance.random() < 0.7
    process = subprocess.Popen(
        [BIN / "topicwarden", "import", "--stack", "dev"],
        cwd=shell.folder,
        env={**os.environ, **shell.variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not begun(shell, instant):
        pass
    time.sleep(after)
    at_work = process.poll() is None
    for pid in (process.pid, *(descendants(process.pid) if whole else ())) if at_work else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    what = "all of it" if whole else "Python"
    return f"{what} killed {after:.4f} s after it {instant}" if at_work else "done before it was killed"


def imported(shell: Shell) -> subprocess.CompletedProcess[str]:
    """Run the import again; retry while the ``pulumi`` process of a killed import still holds the lock."""
    for _ in range(60):
        done = shell.topicwarden("import", "--stack", "dev")
        if done.returncode != 2 or "lock on the stack is held by" not in done.stderr:
            break
        time.sleep(0.5)
    return done


@pytest.mark.parametrize("number", range(KILLS))
def test_the_next_run_converges(shell: Made, cluster: Cluster, number: int) -> None:
    chance = random.Random(f"{SEED}/{number}")
    project, before = shell(), settings(cluster)
    what = killed(project, chance)
    topics = project.folder / "topics"
    found, current = len(list(topics.rglob("*.yaml"))), len(locks(project))
    print(f"seed {SEED}/{number}: {what}; {found} files, {len(adopted(project))} adopted, {current} files of a lock")
    assert settings(cluster) == before
    loaded = load(topics, project.folder, ["dev"])
    assert loaded.problems == (), "no half of a file"
    done = imported(project)
    assert "moving.topic" in done.stderr or done.returncode == 0, done.stdout + done.stderr
    declared = {
        current.topic.name: current.topic
        for current in resolve(load(topics, project.folder, ["dev"]), "dev").declarations
    }
    assert set(declared) == set(UNDECLARED) == adopted(project)
    assert settings(cluster) == before
    empty = project.run("pulumi", "preview", "--refresh", "--expect-no-changes", "--non-interactive")
    assert empty.returncode == 0, empty.stdout
    if locks(project):  # the killed import had adopted everything, so the next one needed no lock
        done = project.topicwarden("up", "--stack", "dev", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
    assert locks(project) == []
    assert not list(topics.glob(".*"))


def test_the_lock_of_a_live_process_is_refused_with_its_owner(shell: Made) -> None:
    project = shell()
    assert project.topicwarden("import", "plain").returncode == 0
    holder = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"],
        cwd=project.folder,
        env={**os.environ, **project.variables, "PATH": project.variables["PATH"]},
        executable=str(Path(project.variables["PATH"].split(os.pathsep)[0]) / "pulumi"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while not locks(project) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(holder.pid, signal.SIGSTOP)
        done = project.topicwarden("import", "ratio")
        assert done.returncode == 2
        assert f"(process {holder.pid})" in done.stderr
    finally:
        for pid in (holder.pid, *descendants(holder.pid)):
            os.kill(pid, signal.SIGKILL)
        holder.wait()
    assert locks(project) != []
    done = project.topicwarden("import", "ratio")
    assert done.returncode == 0, done.stderr
    assert locks(project) == []
    assert adopted(project) == {"plain", "ratio"}
