"""Compare `topicwarden usage` with a bare snapshot of the same cluster, in the same run.

The benchmark starts its own broker, with many topics, groups that have committed offsets, and producers that the
broker remembers. It creates a project that declares the topics, and access of half of them. Operation and snapshot run
in this process, and then as whole processes, in turn::

    .venv/bin/python benchmarks/usage.py [TOPICS] [GROUPS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from brokers import create_topics, started
from confluent_kafka import Consumer, Producer, TopicPartition

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import Project, find_project
from topicwarden.operations.operation_options import UsageOptions
from topicwarden.operations.usage import usage_topics
from topicwarden.toolchain import environment

ROUNDS = 7
MOST = 1.5
"""The time that `usage` may take, in snapshots."""
_PARTITIONS, _TOPICS_OF_A_GROUP, _PRODUCERS = 3, 4, 50
_SNAPSHOT = """
import sys
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.project import find_project
with open_cluster(connect_to(find_project(), "dev")) as cluster:
    cluster.snapshot()
"""


def main() -> int:
    arguments = [int(each) for each in sys.argv[1:]]
    topics, groups = [*arguments, *(1_000, 500)[len(arguments) :]]
    names = [f"t{number:05}.v1" for number in range(topics)]
    with tempfile.TemporaryDirectory() as folder, started(Path(folder, "broker")) as sandbox:
        servers = sandbox.bootstrap_servers
        create_topics(servers, names, _PARTITIONS)
        write(servers, names)
        commit(servers, names, groups)
        project = declare(Path(folder, "project"), servers, names, groups)
        connection = Connection(tuple(servers), tls=False)
        variables = {**os.environ, **environment(find_project()), "TOPICWARDEN_CACHE": str(find_project().cache)}
        command = str(Path(sys.executable).with_name("topicwarden"))
        history = str(Path(folder, "history"))
        print(f"{topics:,} topics of {_PARTITIONS} partitions, {groups:,} groups, median of {ROUNDS} rounds, in turn")
        compare(
            {
                "snapshot": lambda: snapshot(connection),
                "usage": lambda: usage(project, history),
            }
        )
        compare(
            {
                "snapshot, whole process": lambda: run([sys.executable, "-c", _SNAPSHOT], project.root, variables),
                "topicwarden usage": lambda: run(
                    [command, "usage", "--stack", "dev", "--history", history], project.root, variables
                ),
            }
        )
    return 0


def snapshot(connection: Connection) -> None:
    with open_cluster(connection) as cluster:
        cluster.snapshot()


def usage(project: Project, history: str) -> None:
    usage_topics(project, "dev", (), UsageOptions(history=history))


def compare(works: dict[str, Callable[[], object]]) -> None:
    """Print the seconds of each of two works, and their ratio."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for round_ in range(ROUNDS + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if round_:  # the first run has no history to read, and imports
                seconds[name].append(time.perf_counter() - began)
    for name, took in seconds.items():
        print(f"{name:24} {median(took):6.2f} s  ({min(took):.2f} to {max(took):.2f})", flush=True)
    bare, measured = map(median, seconds.values())
    print(f"usage takes {measured / bare:.2f} snapshots (at most {MOST})", flush=True)


def run(command: list[str], folder: Path, variables: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def write(servers: list[str], names: Iterable[str]) -> None:
    """Write to each topic by an idempotent producer, and to some by transactional ones."""
    settings = {"bootstrap.servers": ",".join(servers), "linger.ms": 5}
    with_idempotence = Producer({**settings, "enable.idempotence": True})
    for name in names:
        for number in range(10):
            with_idempotence.produce(name, f"value-{number}", f"key-{number}")
        with_idempotence.poll(0)
    with_idempotence.flush()
    for number, name in zip(range(_PRODUCERS), names, strict=False):
        producer = Producer({**settings, "transactional.id": f"writer-{number}"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(name, "value")
        producer.commit_transaction(60)


def commit(servers: list[str], names: list[str], groups: int) -> None:
    """Commit offsets of each group in some topics."""

    def one(number: int) -> None:
        consumer = Consumer({"bootstrap.servers": ",".join(servers), "group.id": f"group-{number:04}"})
        offsets = [
            TopicPartition(names[(number + step) % len(names)], partition, 1)
            for step in range(_TOPICS_OF_A_GROUP)
            for partition in range(_PARTITIONS)
        ]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(one, range(groups)))


def declare(folder: Path, servers: list[str], names: list[str], groups: int) -> Project:
    """Create a project that declares the topics, and a group for every second topic."""
    for name in ("topics", "stacks", "policies"):
        (folder / name).mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: bench\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n")
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(
        f"config:\n  kafka:bootstrapServers: [{', '.join(servers)}]\n  kafka:tlsEnabled: false\n"
    )
    (folder / "policies" / "usage.yaml").write_text(
        "usage: {idle_after: 30d, idle_groups_after: 30d}\ncost: {currency: EUR, storage_gib_month: 0.09}\n"
    )
    (folder / "topics" / "all.yaml").write_text(
        "---\n".join(
            f"{{topic: {name}, owner: bench, partitions: {_PARTITIONS}, replication_factor: 1, "
            f"access: {{consume: [{{principal: 'User:app-{number}', group: group-{number % groups:04}}}]}}}}\n"
            if number % 2
            else f"{{topic: {name}, owner: bench, partitions: {_PARTITIONS}, replication_factor: 1}}\n"
            for number, name in enumerate(names)
        )
    )
    return Project(folder)


if __name__ == "__main__":
    sys.exit(main())
