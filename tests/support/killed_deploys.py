"""Deploys that are killed at a random moment, and repeated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clients import until
from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from tests.support.stack_state import resources_in_state
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import Project

TOPICS = 120  # more than 100, so that the state is written at the end only
_ENGINE = "pulumi\0up\0"
PROCESSES = {"engine": _ENGINE, "command": "run; run()\0up\0"}
"""A part of the command line of each process of a deploy. The command runs the program and the provider, too."""
CHANGES = ("create", "update", "delete")


@dataclass(frozen=True)
class KilledDeploy:
    """The step of a killed deploy, and the result of the same command afterwards."""

    change: str
    process: str
    after_s: float
    killed: bool
    attempts: int
    lost: frozenset[str]
    orphaned: frozenset[str]
    stale: frozenset[str]
    output: str = field(repr=False, default="")
    """What the last attempt printed."""

    @property
    def converged(self) -> bool:
        return not (self.lost or self.orphaned or self.stale)


@dataclass(frozen=True)
class KillableStack:
    """A project of its own on a shared cluster; its topics begin with ``prefix``."""

    project: Project
    shell: Shell
    prefix: str

    def declare(self, topics: int, retention_ms: int) -> None:
        documents = [
            f"{{topic: {self.prefix}.t{number}.v1, owner: team, partitions: 1, replication_factor: 1, "
            f"config: {{retention.ms: {retention_ms}}}, allow: [delete, shrink-retention]}}\n"
            for number in range(topics)
        ]
        keep = f"{{topic: {self.prefix}.keep.v1, owner: team, partitions: 1, replication_factor: 1}}\n"
        (self.project.topics / "all.yaml").write_text("---\n".join([keep, *documents]), encoding="utf-8")

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.shell.in_process("up", "--stack", "dev", "--yes")

    def deploy(self, topics: int, retention_ms: int) -> None:
        """Declare the topics, and deploy them without an error."""
        self.declare(topics, retention_ms)
        done = self.up()
        assert done.returncode == 0, done.stdout + done.stderr

    def live(self) -> dict[str, str]:
        """Return the retention of each topic of this project on the cluster."""
        with open_cluster(connect_to(self.project, "dev")) as cluster:
            topics = cluster.snapshot(extents=False).topics
        return {
            name: live.own_config.get("retention.ms", "")
            for name, live in topics.items()
            if name.startswith(f"{self.prefix}.")
        }

    def in_state(self) -> frozenset[str]:
        resources = resources_in_state(self.shell)
        return frozenset(str(each.get("id")) for each in resources if each["type"] == "kafka:index/topic:Topic")


@contextmanager
def killable_cluster(folder: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Run one broker with ``overrides`` of its properties, and yield the folder for projects that use it."""
    with own_cache(folder), running(sandbox_of(project_of(folder / "sandbox", {})), 1, overrides, heap="512m"):
        yield folder


def killable_stack(folder: Path, prefix: str) -> KillableStack:
    project = project_of(folder / prefix, {})
    return KillableStack(project, empty_stack(project, folder / f"{prefix}-state"), prefix)


def kill_one_deploy(stack: KillableStack, change: str, process: str, after_s: float) -> KilledDeploy:
    """Kill ``process`` of a deploy that does ``change``, ``after_s`` after its start, and repeat the deploy."""
    stack.deploy(0 if change == "create" else TOPICS, 2_000_000)
    stack.declare(0 if change == "delete" else TOPICS, 1_000_000)
    expected = {f"{stack.prefix}.keep.v1": ""}
    if change != "delete":
        expected |= {f"{stack.prefix}.t{number}.v1": "1000000" for number in range(TOPICS)}
    killed = killed_up(stack.project, stack.shell, process, lambda: time.sleep(after_s))
    attempts = 0
    while attempts < 3:
        attempts += 1
        done = stack.up()
        if done.returncode == 0:
            break
    live = stack.live()
    in_state = stack.in_state()
    return KilledDeploy(
        change,
        process,
        after_s,
        killed,
        attempts,
        lost=frozenset((expected.keys() - live.keys()) | (expected.keys() - in_state)),
        orphaned=frozenset((live.keys() - expected.keys()) | (in_state - expected.keys())),
        stale=frozenset(name for name in live.keys() & expected.keys() if live[name] != expected[name]),
        output=done.stdout + done.stderr,
    )


def deployed_again(up: Callable[[], subprocess.CompletedProcess[str]]) -> int:
    """Deploy with ``up``, and return the number of attempts: a process that is just ending may still hold the lock."""
    for attempt in range(1, 4):
        done = up()
        if done.returncode == 0:
            return attempt
        time.sleep(1)
    raise AssertionError(done.stdout + done.stderr)


def killed_up(project: Project, shell: Shell, process: str, wait: Callable[[], object]) -> bool:
    """Run a deploy and kill one of its processes after ``wait``; return whether the process ran at that moment."""
    command = [sys.executable, "-c", "from topicwarden.cli.main import run; run()", "up", "--stack", "dev", "--yes"]
    running_up = subprocess.Popen(
        command,
        cwd=project.root,
        env={**os.environ, **shell.variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait()
    marker = f"PULUMI_BACKEND_URL={shell.variables['PULUMI_BACKEND_URL']}"
    targets = _processes(PROCESSES[process], marker)
    for pid in targets:
        os.kill(pid, signal.SIGKILL)
    running_up.wait(180)
    until(lambda: not _processes(_ENGINE, marker), "the engine of a killed command ends")
    return bool(targets)


def _processes(part: str, marker: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
            variables = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if part in command and marker in variables.split("\0"):
            found.append(int(folder.name))
    return found
