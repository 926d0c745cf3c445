"""Compare `topicwarden plan` with the `pulumi preview` that it runs, after a change of one of many deployed topics.

The benchmark starts its own broker and creates its own project. The commands run as whole processes, in turn::

    .venv/bin/python benchmarks/plan.py [TOPICS]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from brokers import create_topics, started

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import find_project
from topicwarden.toolchain import environment

ROUNDS = 5
_FEW = 10


def main() -> int:
    topics = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    project = find_project()
    with tempfile.TemporaryDirectory() as folder, started(Path(folder, "broker")) as sandbox:
        servers = sandbox.bootstrap_servers
        few, many = requests(servers, 0, _FEW), requests(servers, _FEW, topics)
        deployed = Deployed(project.root, Path(folder), servers, environment(project))
        deployed.adopt(topics)
        print(f"snapshot: {few} requests for {_FEW} topics, {many} for {topics:,}")
        deployed.measure(topics)
    return 0


def requests(servers: list[str], first: int, end: int) -> int:
    """Create the topics from ``first`` to ``end``, and return how many requests one snapshot of all topics sends."""
    create_topics(servers, [f"t{number:04}.v1" for number in range(first, end)], 1)
    sent = 0
    with open_cluster(Connection(tuple(servers), tls=False)) as cluster:
        cluster.snapshot()
        manager = cluster._admin._manager
        send = manager.send

        async def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal sent
            sent += 1
            return await send(*arguments, **named)

        manager.send = counted
        cluster.snapshot()
    return sent


class Deployed:
    """A project with many deployed topics. One of the topics is changed after the deployment."""

    def __init__(self, repository: Path, folder: Path, servers: list[str], variables: dict[str, str]) -> None:
        self._root = folder / "project"
        (self._root / "topics" / "bench").mkdir(parents=True)
        (self._root / "stacks").mkdir()
        (folder / "state").mkdir()
        shutil.copy(repository / "Pulumi.yaml", self._root)
        shutil.copy(repository / "stacks" / "__main__.py", self._root / "stacks")
        (self._root / ".venv").symlink_to(sys.prefix)
        settings = f"config:\n  kafka:bootstrapServers: [{', '.join(servers)}]\n  kafka:tlsEnabled: false\n"
        (self._root / "stacks" / "Pulumi.dev.yaml").write_text(settings)
        state = {"PULUMI_BACKEND_URL": (folder / "state").as_uri(), "PULUMI_CONFIG_PASSPHRASE": "benchmark"}
        self._variables = {**os.environ, **variables, **state}

    def adopt(self, topics: int) -> None:
        """Deploy the topics. They already exist on the broker, so Pulumi adopts them."""
        for number in range(topics):
            self._write(number, "{}")
        self._run("pulumi", "stack", "init", "dev", "--non-interactive")
        up = ("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--suppress-outputs", "--stack", "dev")
        self._run(*up)
        self._write(0, "{retention.ms: 30d}")

    def measure(self, topics: int) -> None:
        commands = {
            "pulumi preview": ("pulumi", "preview", "--json", "--non-interactive", "--stack", "dev"),
            "topicwarden plan": ("topicwarden", "plan", "--stack", "dev", "--format", "json"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                started = time.perf_counter()
                self._run(*command)
                seconds[name].append(time.perf_counter() - started)
        preview, plan = (median(held) for held in seconds.values())
        print(f"{topics:,} topics, one changed; median of {ROUNDS} rounds, in turn")
        for name, held in seconds.items():
            print(f"{name:18} {median(held):6.2f} s  ({min(held):.2f} to {max(held):.2f})")
        print(f"plan adds {plan - preview:.2f} s (at most 2)")

    def _write(self, number: int, config: str) -> None:
        text = f"{{owner: bench, partitions: 1, replication_factor: 1, config: {config}}}\n"
        (self._root / "topics" / "bench" / f"t{number:04}.v1.yaml").write_text(text)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self._root, env=self._variables, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
