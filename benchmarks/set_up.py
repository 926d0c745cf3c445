"""Measure `make demo`, `make wheel` or `make setup` in a clean clone with an empty home: time, CPU time and download.

`python3 benchmarks/set_up.py demo|wheel|setup [--rounds 3] [--pulumi FOLDER]`. Any Python runs it. It measures the last
commit, and prints a row of a Markdown table. The download is that of the whole machine, so nothing else should run.
Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_CACHES = (
    "GOCACHE",
    "GOENV",
    "GOMODCACHE",
    "GOPATH",
    "PIP_CACHE_DIR",
    "TOPICWARDEN_CACHE",
    "UV_CACHE_DIR",
    "XDG_CACHE_HOME",
)
"""Variables that would lead to caches outside of the home."""
_MAVEN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # as topicwarden/toolchain/jar_lock.py
HEAD = "| command | `pulumi` on the PATH | time | CPU time | downloaded | again, warm |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Measured:
    """One run: seconds, CPU seconds of all processes, bytes that arrived, and the seconds of a second run."""

    seconds: float
    cpu_seconds: float
    received: int
    warm_seconds: float


def measure(target: str, pulumi: Path | None) -> Measured:
    """Run the target in a new clone, twice. Raises SystemExit with the end of the output if it fails."""
    folder = Path(tempfile.mkdtemp(prefix="set-up-"))
    clone, home = folder / "clone", folder / "home"
    try:
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        variables = empty_home(home, pulumi)
        cpu, received, began = cpu_seconds(), received_bytes(), time.monotonic()
        _make(target, clone, variables, folder / "log")
        seconds, received = time.monotonic() - began, received_bytes() - received
        _stop(clone, variables)
        cpu = cpu_seconds() - cpu
        began = time.monotonic()
        if target != "demo":
            _make(target, clone, variables, folder / "log")
        return Measured(seconds, cpu, received, time.monotonic() - began)
    finally:
        _remove(folder)


def empty_home(home: Path, pulumi: Path | None) -> dict[str, str]:
    """Return the environment of a user with an empty home, except for the settings of package indexes."""
    home.mkdir()
    for settings in (".m2/settings.xml", ".config/pip/pip.conf", ".pip/pip.conf"):
        if (Path.home() / settings).is_file():
            (home / settings).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path.home() / settings, home / settings)
    variables = {name: value for name, value in os.environ.items() if name not in _CACHES}
    # Java takes the home from the list of users.
    variables |= {"HOME": str(home), "MAVEN_OPTS": f"{_MAVEN} -Duser.home={home}"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    path = [each for each in variables["PATH"].split(os.pathsep) if not (Path(each) / "pulumi").exists()]
    return variables | {"PATH": os.pathsep.join([*([str(pulumi)] if pulumi else []), *path])}


def _make(target: str, clone: Path, variables: Mapping[str, str], log: Path) -> None:
    with log.open("wb") as file:
        command = ["make", f"PYTHON={os.path.realpath(sys.executable)}", target]
        done = subprocess.run(command, cwd=clone, env=variables, stdout=file, stderr=file, check=False)
    if done.returncode:
        sys.exit(f"make {target} failed:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")


def _stop(clone: Path, variables: Mapping[str, str]) -> None:
    """Stop the brokers of a demo, and wait for all processes that the target has left behind."""
    command = clone / ".venv" / "bin" / "topicwarden"
    if command.exists():
        subprocess.run([command, "sandbox", "down"], cwd=clone, env=variables, capture_output=True, check=False)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def cpu_seconds() -> float:
    """Return the CPU seconds of all processes that have ended below this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def received_bytes() -> int:
    """Return the bytes that all interfaces except the loopback have received."""
    lines = (line.split(":") for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()[2:])
    return sum(int(counts.split()[0]) for name, counts in lines if name.strip() != "lo")


def _remove(folder: Path) -> None:
    for directory, _, _ in os.walk(folder):
        Path(directory).chmod(0o700)  # Go's modules are read-only
    shutil.rmtree(folder)


def row(target: str, pulumi: bool, runs: list[Measured]) -> str:
    """Return the row of the table: medians, and the range of the times."""
    times = [run.seconds for run in runs]
    time_ = f"{_clock(statistics.median(times))} ({_clock(min(times))}–{_clock(max(times))})"
    cpu = f"{statistics.median(run.cpu_seconds for run in runs):.0f} s"
    received = f"{statistics.median(run.received for run in runs) / 1e6:.0f} MB"
    warm = f"{statistics.median(run.warm_seconds for run in runs):.1f} s" if target != "demo" else "–"
    return f"| `make {target}` | {'yes' if pulumi else 'no'} | {time_} | {cpu} | {received} | {warm} |"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def main() -> int:
    """Measure the rounds, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=("demo", "wheel", "setup"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pulumi", type=Path, help="a folder with a pulumi that is on the PATH")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)  # processes that lose their parent become children of this one
    runs = []
    for number in range(1, options.rounds + 1):
        runs.append(measure(options.target, options.pulumi))
        print(f"round {number}: {runs[-1]}", file=sys.stderr, flush=True)
    print(HEAD)
    print(row(options.target, options.pulumi is not None, runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
