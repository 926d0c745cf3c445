"""Compare commands that wait for the start of Spark with a bare session that counts ten rows, in turn.

The commands are an audit of ten records, and a plan that reads one record with a new schema. A plan without a change
shows what the new schema adds. The benchmark starts its own brokers and Apicurio. Linux only::

    .venv/bin/python benchmarks/spark_start.py [ROUNDS]
    .venv/bin/python benchmarks/spark_start.py [ROUNDS] --fresh

A plan with a new schema should take at most 10 s, and an audit at most 1.0 of the bare session. ``--fresh`` compares
the first, second and third audit of a new installation, which has no archive of Spark's classes. The second one leaves
a process behind that records the archive; the benchmark waits for its end, and shows its CPU time.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from brokers import started
from deploy import MeasuredStack
from many_topics import BARE, AuditedCluster, run
from set_up import cpu_seconds

from tests.support.registry import running_registry
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import registered_versions
from topicwarden.model.project import Project, find_project
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.toolchain import environment

TOPIC, ROUNDS = "payments.v1", 3
_PR_SET_CHILD_SUBREAPER, _END_S = 36, 60.0


def main() -> int:
    """Measure the rounds, and print the medians."""
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    rounds, fresh = numbers[0] if numbers else ROUNDS, "--fresh" in sys.argv
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # a JVM may end after the command that started it
    project = find_project()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        audited = AuditedCluster(folder / "audited", {"few": 10}, stack)
        bare = {"bare Spark, ten rows": lambda: run([sys.executable, "-c", BARE], folder)}
        if fresh:
            return compare(bare | first_audits(audited, project, folder / "cache"), rounds)
        url = stack.enter_context(running_registry(folder / "registry"))
        servers = stack.enter_context(started(folder / "broker")).bootstrap_servers
        planned = PlannedSchema(project.root, folder / "planned", servers, url)
        planned.deploy({**environment(project), "TOPICWARDEN_CACHE": str(project.cache)})
        works: dict[str, Callable[[], None]] = {
            **bare,
            "audit, 10 records": audited.audit,
            "plan, no change": lambda: planned.plan(changed=False),
            "plan, new schema, 1 record": lambda: planned.plan(changed=True),
        }
        return compare(works, rounds)


def first_audits(audited: AuditedCluster, project: Project, cache: Path) -> dict[str, Callable[[], None]]:
    """Return the first audits with a new cache, which has the reader and nothing else."""

    def first() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        (cache / "jars").mkdir(parents=True)
        (cache / "jars" / "reader").symlink_to(project.tools_cache / "jars" / "reader")
        audited.variables["TOPICWARDEN_CACHE"] = str(cache)
        audited.audit()

    later = {f"{nth} audit, 10 records": audited.audit for nth in ("second", "third")}
    return {"first audit, 10 records": first, **later}


def compare(works: Mapping[str, Callable[[], None]], rounds: int) -> int:
    """Run ``works`` in turn, and print their times and the medians."""
    seconds: dict[str, list[float]] = {work: [] for work in works}
    for round_ in range(rounds + 1):
        for work, start in works.items():
            wall, cpu = measured(start)
            if round_:  # the first round fills caches
                seconds[work].append(wall)
                bare = seconds["bare Spark, ten rows"][-1]
                load = os.getloadavg()[0]
                print(f"{work:28} {wall:6.2f} s  {cpu:6.2f} CPU s  {wall / bare:5.2f} of bare  load {load:.1f}")
                sys.stdout.flush()
    medians = {work: median(each) for work, each in seconds.items()}
    print(f"\nmedian of {rounds} rounds, in turn")
    for work, spent in medians.items():
        print(f"{work:28} {spent:6.2f} s  {spent / medians['bare Spark, ten rows']:5.2f} of bare")
    return 0


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds of ``work``, and the CPU seconds of its processes, also of those that end after it."""
    before, cpu, began = children(), cpu_seconds(), time.perf_counter()
    work()
    wall = time.perf_counter() - began
    while (left := children() - before) and time.perf_counter() < began + wall + _END_S:
        for process in left:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
        time.sleep(0.05)
    return wall, cpu_seconds() - cpu


def children() -> set[int]:
    """Return the processes below this one."""
    threads = Path("/proc/self/task").glob("*/children")
    return {int(process) for each in threads for process in each.read_text(encoding="utf-8").split()}


class PlannedSchema(MeasuredStack):
    """A project with one topic, whose schema changes in the YAML after one record was written."""

    def __init__(self, repository: Path, folder: Path, servers: list[str], url: str) -> None:
        super().__init__(repository, folder, servers, 1, partitions=1, provider="own")
        self._url = url

    def deploy(self, variables: dict[str, str]) -> None:
        """Deploy the topic and its first schema, and write one record."""
        self.prepare(variables)
        self._run("topicwarden", "up", "--stack", "dev", "--yes")
        with RegistryClient(RegistrySettings(self._url)) as client:
            (version,) = registered_versions(client, f"{TOPIC}-value")
        with writing(self._servers, timeout_s=60) as writer:
            writer.send(TOPIC, None, b"\0" + version.id.to_bytes(4, "big") + b"\x02a")

    def plan(self, *, changed: bool) -> None:
        """Plan the deploy, with a schema that has one field more if it ``changed``."""
        self._write_schema(more=changed)
        self._run("topicwarden", "plan", "--stack", "dev")

    def _write_topics(self, first_retention: str) -> None:
        text = (
            f"{{topic: {TOPIC}, owner: bench, partitions: 1, replication_factor: 1, "
            "contents: {value: {format: avro, schema: schemas/payment.avsc, registry: {compatibility: BACKWARD}}}}\n"
        )
        (self._root / "topics" / "one.yaml").write_text(text, encoding="utf-8")
        settings = self._root / "stacks" / "Pulumi.dev.yaml"
        line = f"  topicwarden:schemaRegistry: {self._url}\n"
        settings.write_text(settings.read_text(encoding="utf-8") + line, encoding="utf-8")
        self._write_schema(more=False)

    def _write_schema(self, *, more: bool) -> None:
        fields: list[dict[str, str]] = [{"name": "id", "type": "string"}]
        fields += [{"name": "note", "type": "string", "default": ""}] if more else []
        folder = self._root / "topics" / "schemas"
        folder.mkdir(exist_ok=True)
        schema = {"type": "record", "name": "Payment", "fields": fields}
        (folder / "payment.avsc").write_text(json.dumps(schema), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
