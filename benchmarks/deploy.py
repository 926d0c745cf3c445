"""Time deploys of many topics: create, empty preview, plan, change, refresh, import and destroy, beside their floor.

The floor is what Kafka's Admin API takes to create and delete the same topics with as few requests as it accepts, until
every broker shows it. Each step of topicwarden has its ratio to the floor of the creation or the deletion, and ``plan``
to the preview. With ``--official``, the same project runs with the official provider as well. Everything runs in turn,
on its own brokers::

    .venv/bin/python benchmarks/deploy.py 100 300 1000 [--brokers 3] [--partitions 3] [--official]
    .venv/bin/python benchmarks/deploy.py 40000 --partitions 1 --one-change

With ``--one-change``, there is no floor, and after the creation only one change is previewed and applied.

With ``--access``, a project of one topic, 10,000 ACLs and 2,000 users (``--acls``, ``--users``) is deployed instead,
beside its floor and beside as many topics, and planned beside 80,000 foreign ACLs (``--foreign``)::

    .venv/bin/python benchmarks/deploy.py --access [--acls 10000] [--users 2000] [--foreign 80000] [--topics-too]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from copy import copy
from pathlib import Path

import yaml
from brokers import started
from kafka import KafkaAdminClient

from topicwarden.kafka.read.topic_reads import TopicProperties, wait_until_visible
from topicwarden.kafka_facts.services import APACHE
from topicwarden.model.project import find_project
from topicwarden.toolchain import environment

DOMAINS = 10
SETTLE_S, LONGEST_SETTLE_S = 0.01, 20.0
"""The pause before each step, for each topic: brokers create and delete logs for seconds after a request."""
LEAN = {
    "PULUMI_SKIP_CHECKPOINTS": "true",
    "PULUMI_EXPERIMENTAL": "true",
    "PULUMI_ENABLE_LEGACY_DIFF": "true",
}
"""What topicwarden sets; for `pulumi preview`."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", type=int, nargs="*", default=[1_000])
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=3, help="of each topic; each is a log that a broker creates")
    parser.add_argument("--official", action="store_true", help="the official provider, too; slow")
    parser.add_argument("--one-change", action="store_true", help="only create, and preview and apply one change")
    parser.add_argument("--access", action="store_true", help="ACLs and users instead of topics")
    parser.add_argument("--acls", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=2_000)
    parser.add_argument("--foreign", type=int, default=80_000, help="ACLs of others, beside which it is planned")
    parser.add_argument("--topics-too", action="store_true", help="as many topics, in the same run")
    arguments = parser.parse_args()
    if arguments.access:
        from access import measure_access  # noqa: PLC0415 - which imports this module

        return measure_access(arguments)
    project = find_project()
    print(f"{'topics':>7}  {'provider':9} {'step':26} {'wall s':>7} {'CPU s':>7} {'MiB':>7}", flush=True)
    for topics in arguments.topics:
        with tempfile.TemporaryDirectory() as folder, started(Path(folder, "broker"), arguments.brokers) as sandbox:
            floors = {} if arguments.one_change else floor(sandbox.bootstrap_servers, topics, arguments.partitions)
            for provider in ("own", "official") if arguments.official else ("own",):
                stack = MeasuredStack(
                    project.root,
                    Path(folder, provider),
                    sandbox.bootstrap_servers,
                    topics,
                    partitions=arguments.partitions,
                    provider=provider,
                )
                if arguments.one_change:
                    stack.measure_one_change(environment(project))
                else:
                    stack.measure(environment(project))
                if floors:
                    show_ratios(topics, provider, stack.seconds, floors)
    return 0


def show_ratios(topics: int, provider: str, seconds: Mapping[str, float], floors: Mapping[str, float]) -> None:
    """Print what a step takes in relation to another one of the same run."""
    for step, bound in (
        ("create", floors["create"]),
        ("destroy", floors["delete"]),
        ("plan", seconds["empty preview"]),
    ):
        name = "of the empty preview" if step == "plan" else "of the Admin API"
        print(f"{topics:>7}  {provider:9} {step}: {seconds[step] / bound:.1f} times that {name}", flush=True)


def floor(servers: list[str], topics: int, partitions: int) -> dict[str, float]:
    """Create and delete the topics with as few requests as the controller accepts; return the seconds of each step.

    A step has ended when every broker shows its result.
    """
    seconds: dict[str, float] = {}
    admin = KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=120_000)
    names = [f"floor.t{number:05}" for number in range(topics)]
    batches = [names[start : start + 1_000] for start in range(0, topics, 1_000)]
    new = {"num_partitions": partitions, "replication_factor": 1, "configs": {"retention.ms": "604800000"}}

    def create() -> None:
        for batch in batches:
            admin.create_topics(dict.fromkeys(batch, new))

    def delete() -> None:
        for batch in batches:
            admin.delete_topics(batch)

    for step, send, state in (("create", create, TopicProperties(partitions, 1)), ("delete", delete, None)):
        began = time.perf_counter()
        send()
        sent = time.perf_counter() - began
        wait_until_visible(admin, dict.fromkeys(names, state), APACHE)
        _print(topics, "-", f"Admin API: {step}", sent)
        seconds[step] = time.perf_counter() - began
        _print(topics, "-", "  and every broker shows it", seconds[step])
    admin.close()
    return seconds


class MeasuredStack:
    """A project with this number of topics, and its own state."""

    def __init__(
        self, repository: Path, folder: Path, servers: list[str], topics: int, *, partitions: int, provider: str
    ) -> None:
        self._root, self._topics, self._provider, self._servers = folder / "project", topics, provider, servers
        self._folder, self._repository, self._partitions = folder, repository, partitions
        self.seconds: dict[str, float] = {}
        """The seconds of each step."""

    def prepare(self, variables: dict[str, str]) -> None:
        """Write the project, and create its stack."""
        self._write_project()
        (self._folder / "state").mkdir()
        state = {"PULUMI_BACKEND_URL": (self._folder / "state").as_uri(), "PULUMI_CONFIG_PASSPHRASE": "benchmark"}
        self._variables = {**os.environ, **variables, **state}
        self._run("pulumi", "stack", "init", "dev")

    def measure(self, variables: dict[str, str]) -> None:
        """Time each step."""
        self.prepare(variables)
        commands = self._commands()
        self.time("create", lambda: self._run(*commands["up"]))
        self.time("empty preview", lambda: self._run(*commands["preview"], lean=True))
        self.time("plan", lambda: self._run("topicwarden", "plan", "--stack", "dev"))
        self._time_one_change()
        self.time("refresh", lambda: self._run(*commands["refresh"]))
        if self._provider == "own":
            self._time_import()
        self.time("destroy", lambda: self._run(*commands["destroy"]))

    def measure_one_change(self, variables: dict[str, str]) -> None:
        """Time the creation and one change only."""
        self.prepare(variables)
        self.time("create", lambda: self._run(*self._commands()["up"]))
        self._time_one_change()

    def _commands(self) -> dict[str, tuple[str, ...]]:
        options = ("--stack", "dev", "--parallel", "1000")
        commands: dict[str, tuple[str, ...]] = {
            "up": ("topicwarden", "up", "--stack", "dev", "--yes"),
            "refresh": ("topicwarden", "refresh", "--stack", "dev"),
            "destroy": ("topicwarden", "destroy", "--stack", "dev", "--yes"),
        }
        if self._provider == "official":
            commands = {
                name: ("pulumi", name, "--yes", "--skip-preview", "--suppress-outputs", *options) for name in commands
            }
        return commands | {"preview": ("pulumi", "preview", *options)}

    def _time_one_change(self) -> None:
        self._write_topics(first_retention="8d")
        commands = self._commands()
        self.time("one change: preview", lambda: self._run(*commands["preview"], lean=True))
        self.time("one change: apply", lambda: self._run(*commands["up"]))

    def _time_import(self) -> None:
        """Import all topics into an empty project with a state of its own."""
        root, state = self._folder / "importing", self._folder / "imported-state"
        shutil.copytree(self._root, root, symlinks=True, ignore=shutil.ignore_patterns("topics", ".cache"))
        for folder in (root / "topics", state):
            folder.mkdir()
        importing = copy(self)
        importing._root = root
        importing._variables = {**self._variables, "PULUMI_BACKEND_URL": state.as_uri()}
        importing._run("pulumi", "stack", "init", "dev")
        importing.time("import", lambda: importing._run("topicwarden", "import", "--stack", "dev"))

    def _write_project(self) -> None:
        for name in ("topics", "stacks"):
            (self._root / name).mkdir(parents=True)
        settings = yaml.safe_load((self._repository / "Pulumi.yaml").read_text(encoding="utf-8"))
        program = "from topicwarden.deploy.program import deploy\n\ndeploy()\n"
        if self._provider == "official":
            del settings["plugins"]
            program = "import topicwarden.deploy.program as program\n\nprogram.require_provider = lambda _: None\n"
            program += "program.deploy()\n"
        (self._root / "Pulumi.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        (self._root / "stacks" / "__main__.py").write_text(program, encoding="utf-8")
        servers = ", ".join(self._servers)
        stack = f"config:\n  kafka:bootstrapServers: [{servers}]\n  kafka:tlsEnabled: false\n"
        (self._root / "stacks" / "Pulumi.dev.yaml").write_text(stack, encoding="utf-8")
        shutil.rmtree(self._root / ".venv", ignore_errors=True)
        (self._root / ".venv").symlink_to(sys.prefix)
        self._write_topics("7d")

    def _write_topics(self, first_retention: str) -> None:
        for domain in range(DOMAINS):
            documents = [
                f"{{topic: d{domain}.t{number:05}.v1, owner: bench, partitions: {self._partitions}, "
                f"replication_factor: 1, allow: [delete], "
                f"config: {{retention.ms: {first_retention if domain == number == 0 else '7d'}}}}}\n"
                for number in range(self._topics // DOMAINS)
            ]
            (self._root / "topics" / f"d{domain}.yaml").write_text("---\n".join(documents), encoding="utf-8")

    def time(self, step: str, run: Callable[[], None]) -> None:
        time.sleep(min(self._topics * SETTLE_S, LONGEST_SETTLE_S))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        with ThreadPoolExecutor(1) as executor:
            running = executor.submit(run)
            peak = 0.0
            while not running.done():
                peak = max(peak, resident_mib())
                wait([running], timeout=0.2)
            running.result()
        wall = self.seconds[step] = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        _print(self._topics, self._provider, step, wall, f"{cpu:7.1f} {peak:7.0f}")

    def _run(self, *command: str, lean: bool = False) -> None:
        arguments = [*command, *(["--non-interactive"] if command[0] == "pulumi" else [])]
        variables = {**self._variables, **(LEAN if lean and self._provider == "own" else {})}
        done = subprocess.run(arguments, cwd=self._root, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}")


def resident_mib() -> float:
    """Return the memory of all processes below this one together, without the brokers; 0 if there is no ``/proc``."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
            if b"kafka.Kafka" in (folder / "cmdline").read_bytes():
                continue
        except OSError:  # it has ended
            continue
        fields = dict(line.split(":", 1) for line in status.splitlines())
        parents[int(folder.name)] = int(fields["PPid"])
        sizes[int(folder.name)] = int(fields.get("VmRSS", "0 kB").split()[0]) / 1024

    def below(process: int) -> bool:
        parent = parents.get(process, 0)
        return parent == os.getpid() or (parent != 0 and below(parent))

    return sum(size for process, size in sizes.items() if below(process))


def _print(topics: int, provider: str, step: str, wall: float, used: str = "") -> None:
    print(f"{topics:>7}  {provider:9} {step:26} {wall:7.1f} {used}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
