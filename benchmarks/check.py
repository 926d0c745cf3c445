"""Benchmark `topicwarden check` on 10,000 specs in 200 folders with defaults and four stacks.

The baseline is PyYAML's C loader, which only composes the same files. Both run as whole processes, in turn, in one
run::

    .venv/bin/python benchmarks/check.py

With ``--start``, measure the CPU time of short commands in this repository, which has few topics::

    .venv/bin/python benchmarks/check.py --start
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SPECS, FOLDERS, STACKS, ROUNDS = 10_000, 200, ("dev", "test", "staging", "prod"), 5
START_LIMITS = {"check": 0.45, "--help": 0.25, "--version": 0.25}
"""The most CPU seconds of a command on a quiet machine."""
COMMAND = str(Path(sys.executable).with_name("topicwarden"))
FLOOR = """
import pathlib, sys, yaml
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.yaml")):
    list(yaml.compose_all(path.read_bytes(), yaml.CSafeLoader))
"""


@dataclass(frozen=True)
class Run:
    """The wall and CPU times in seconds, and the peak memory in MiB, of one process."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def main() -> int:
    if "--start" in sys.argv[1:]:
        return measure_start()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_project(root)
        (root / "floor.py").write_text(FLOOR)
        one = root / "topics" / "domain-100" / "events.t5000.v1.yaml"
        commands: dict[str, Sequence[str]] = {
            "floor: compose every file": (sys.executable, "floor.py", "topics"),
            "check, four stacks": (COMMAND, "check"),
            "check one file": (COMMAND, "check", str(one.relative_to(root))),
            "python, nothing else": (sys.executable, "-c", ""),
        }
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                runs[name].append(measure(command, root))
    floor, full, one_file, _ = (median(run.seconds for run in held) for held in runs.values())
    print(f"{SPECS:,} specs in {FOLDERS} folders, {len(STACKS)} stacks; median of {ROUNDS} runs, in turn\n")
    for name, held in runs.items():
        print(f"{name:28} {median(r.seconds for r in held):7.2f} s  {max(r.peak_mib for r in held):6.0f} MiB")
    peak = max(run.peak_mib for run in runs["check, four stacks"])
    targets = {
        f"check over its floor: {full / floor:.2f} (at most 5)": full / floor <= 5,
        f"peak memory: {peak:.0f} MiB (under 300)": peak < 300,
        f"one file: {one_file:.2f} s (under 0.5)": one_file < 0.5,
    }
    print()
    for target, met in targets.items():
        print(f"{'met    ' if met else 'MISSED '} {target}")
    return 0 if all(targets.values()) else 1


def measure_start() -> int:
    """Print the CPU time of each short command, which does not depend on other processes as wall time does."""
    missed = False
    print(f"median CPU time of {ROUNDS} runs, in turn\n")
    runs: dict[str, list[float]] = {name: [] for name in START_LIMITS}
    for _ in range(ROUNDS):
        for name, held in runs.items():
            held.append(measure((COMMAND, name), Path(__file__).parents[1]).cpu_seconds)
    for name, limit in START_LIMITS.items():
        seconds = median(runs[name])
        missed |= seconds > limit
        print(f"{'MISSED ' if seconds > limit else 'met    '} {name:10} {seconds:5.2f} s (at most {limit})")
    return 1 if missed else 0


def write_project(root: Path) -> None:
    """Write a project like a large company's: one folder for each domain, with defaults and some settings per stack."""
    (root / "Pulumi.yaml").write_text("name: bench\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n")
    for name in ("stacks", "policies", "topics"):
        (root / name).mkdir()
    for stack in STACKS:
        (root / "stacks" / f"Pulumi.{stack}.yaml").write_text("config:\n  kafka:bootstrapServers: [localhost:9092]\n")
    (root / "policies" / "topics.yaml").write_text(
        "rules:\n"
        "  topic-name: {matches: '^[a-z]+(\\.[a-z0-9_]+)+\\.v[0-9]+$'}\n"
        "  partitions: {max: 120}\n"
        "  replication-factor: {min: 3, stacks: [prod]}\n"
        "  owner: {level: error}\n"
        "  retention: {level: warning, max: 30d}\n"
    )
    (root / "topics" / "_defaults.yaml").write_text(
        "replication_factor: 3\n"
        "config:\n  cleanup.policy: delete\n  min.insync.replicas: 2\n"
        "stacks:\n  dev: {replication_factor: 1, config: {min.insync.replicas: 1}}\n"
    )
    for number in range(FOLDERS):
        folder = root / "topics" / f"domain-{number:03}"
        folder.mkdir()
        (folder / "_defaults.yaml").write_text(f"owner: team-{number}\nconfig:\n  compression.type: lz4\n")
    for number in range(SPECS):
        folder = root / "topics" / f"domain-{number * FOLDERS // SPECS:03}"
        (folder / f"events.t{number}.v1.yaml").write_text(
            f"description: One record an event of kind {number}, keyed by its id.\n"
            f"partitions: {3 + number % 9}\n"
            "config:\n"
            "  retention.ms: 7d\n"
            "  max.message.bytes: 1MiB   # the broker's own limit\n"
            "contents:\n"
            "  key: {required: true, format: string}\n"
            "  records: {max_bytes: 64KiB}\n"
            "stacks:\n"
            "  dev: {partitions: 1}\n"
        )


def measure(command: Sequence[str], cwd: Path) -> Run:
    """Run ``command`` until it ends, and measure it. A failed command is not measured."""
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale)


if __name__ == "__main__":
    sys.exit(main())
