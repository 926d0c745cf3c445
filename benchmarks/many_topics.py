"""Compare an audit of many small topics with an audit of one topic that has the same records, as whole commands.

Each set of topics has its own broker and its own project. Each audit writes all report files and its history. The floor
is a process that starts a bare Spark session and counts ten rows; a topic with ten records shows what the audit adds to
that::

    .venv/bin/python benchmarks/many_topics.py [TOPICS] [RECORDS_OF_EACH]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from brokers import create_topics, started

from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.model.project import find_project
from topicwarden.toolchain import environment

ROUNDS, VALUE = 3, "x" * 185
BARE = (
    "from pyspark.sql import SparkSession\n"
    "assert SparkSession.builder.master('local[*]').getOrCreate().range(10).count() == 10"
)


def main() -> int:
    arguments = [int(each) for each in sys.argv[1:]]
    topics, records = [*arguments, *(1_000, 1_000)[len(arguments) :]]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        few = AuditedCluster(Path(name, "few"), {"few": 10}, stack)
        one = AuditedCluster(Path(name, "one"), {"one": topics * records}, stack)
        many = AuditedCluster(Path(name, "many"), {f"many.t{n:05}": records for n in range(topics)}, stack)
        works: dict[str, Callable[[], None]] = {
            "bare Spark, ten rows": lambda: run([sys.executable, "-c", BARE], Path(name)),
            "1 topic, 10 records": few.audit,
            f"1 topic, {topics * records:,} records": one.audit,
            f"{topics:,} topics, {records:,} each": many.audit,
            f"{topics:,} topics, nothing new, --since last": lambda: many.audit("--since", "last"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in works}
        for round_ in range(ROUNDS + 1):
            for work, start in works.items():
                began = time.perf_counter()
                start()
                if round_:  # the first audit has no history to read
                    seconds[work].append(time.perf_counter() - began)
                    print(f"{work:44} {seconds[work][-1]:7.2f} s", flush=True)
        page = (many.root / "reports" / "report.html").stat().st_size
    bare, small, large, each, since = map(median, seconds.values())
    print(f"\nmedian of {ROUNDS} rounds, in turn: whole commands with all reports and the history")
    print(f"an audit of ten records takes {small / bare:.2f} of bare Spark")
    print(f"{topics:,} topics take {each / large:.2f} of one topic with the same records")
    print(f"--since last, nothing new: {since / each:.2f} of a full audit, {since / bare:.2f} of bare Spark")
    print(f"report.html of {topics:,} topics: {page:,} bytes")
    return 0


@dataclass
class AuditedCluster:
    """A broker with these topics and their numbers of records, and a project that declares the topics."""

    root: Path
    topics: dict[str, int]
    stack: ExitStack

    def __post_init__(self) -> None:
        project = find_project()
        sandbox = self.stack.enter_context(started(self.root / "broker"))
        self.variables = {**os.environ, **environment(project), "TOPICWARDEN_CACHE": str(project.cache)}
        del self.variables["SPARK_CONF_DIR"]
        for folder in ("topics", "stacks"):
            (self.root / folder).mkdir()
        (self.root / "Pulumi.yaml").write_text("name: bench\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n")
        servers = ", ".join(sandbox.bootstrap_servers)
        (self.root / "stacks" / "Pulumi.dev.yaml").write_text(
            f"config:\n  kafka:bootstrapServers: [{servers}]\n  kafka:tlsEnabled: false\n"
        )
        (self.root / "topics" / "all.yaml").write_text(
            "---\n".join(
                f"{{topic: {name}, owner: bench, partitions: 1, replication_factor: 1, config: {{retention.ms: 7d}}, "
                "contents: {key: {required: true, format: string}, value: {format: string}}}\n"
                for name in self.topics
            )
        )
        create_topics(sandbox.bootstrap_servers, self.topics, 1, {"retention.ms": "604800000"})
        with writing(sandbox.bootstrap_servers, timeout_s=300) as writer:
            for name, records in self.topics.items():
                for number in range(records):
                    writer.send(name, f"key-{number:08}", VALUE)

    def audit(self, *options: str) -> None:
        command = [str(Path(sys.executable).with_name("topicwarden")), "audit", "--stack", "dev", "--out", "reports"]
        history = str(self.root / "history")
        run([*command, "--history", history, "--fail-on", "never", *options], self.root, self.variables)


def run(command: list[str], folder: Path, variables: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
