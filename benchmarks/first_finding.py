"""Measure the way to the first finding: install a wheel, and audit a running cluster without a project.

`python3 benchmarks/first_finding.py WHEEL HOST:PORT [--rounds 3] [--cached]`. Any Python 3.11 or later runs it. The
home is empty, so pip downloads every package, unless `--cached`: then a first install, which is not measured, fills
pip's cache. It prints a row of a Markdown table for each round. Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from set_up import cpu_seconds, empty_home, received_bytes

HEAD = (
    "| round | install | its CPU time | downloaded | first audit | its CPU time | together | second audit |\n"
    + "|---" * 8
    + "|"
)
INSTALL_S, TOGETHER_S = 45.0, 90.0
"""The limits on two cores that nothing else uses."""


class Step(NamedTuple):
    """The seconds of a command, and the CPU seconds of its processes."""

    seconds: float
    cpu: float


def measured(command: Sequence[object], variables: Mapping[str, str], folder: Path, codes: Sequence[int]) -> Step:
    """Run ``command``; raise SystemExit with its output unless its exit code is one of ``codes``."""
    cpu, began = cpu_seconds(), monotonic()
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    step = Step(monotonic() - began, cpu_seconds() - cpu)
    if done.returncode not in codes:
        sys.exit(f"{command[0]} ended with exit code {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return step


def install(wheel: Path, environment: Path, variables: Mapping[str, str]) -> Step:
    """Create ``environment``, and install the wheel with the extra for audits."""
    create = measured([sys.executable, "-m", "venv", environment], variables, environment.parent, [0])
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[audit]"]
    installed = measured(pip, variables, environment.parent, [0])
    return Step(create.seconds + installed.seconds, create.cpu + installed.cpu)


def measure(number: int, wheel: Path, servers: str, cached: bool) -> str:
    """Return the row of one round."""
    folder = Path(tempfile.mkdtemp(prefix="first-finding-"))
    try:
        variables = empty_home(folder / "home", None)
        if cached:
            install(wheel, folder / "before", variables)
            shutil.rmtree(folder / "before")
        received = received_bytes()
        installed = install(wheel, folder / "environment", variables)
        received = received_bytes() - received
        command = [folder / "environment" / "bin" / "topicwarden", "audit", "--bootstrap-server", servers]
        first = measured(command, variables, folder, [0, 1])
        second = measured(command, variables, folder, [0, 1])
        together = installed.seconds + first.seconds
        return (
            f"| {number} | {installed.seconds:.0f} s | {installed.cpu:.0f} s | {received / 1e6:.0f} MB | "
            f"{first.seconds:.0f} s | {first.cpu:.0f} s | {together:.0f} s | {second.seconds:.0f} s |"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Measure the rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("servers", metavar="HOST:PORT")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cached", action="store_true", help="pip has downloaded the packages before")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores; limits: {INSTALL_S:.0f} s for the install, {TOGETHER_S:.0f} s together")
    print(HEAD, flush=True)
    for number in range(1, arguments.rounds + 1):
        print(measure(number, arguments.wheel.resolve(), arguments.servers, arguments.cached), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
