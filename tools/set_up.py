"""Install what `make demo`, `make test` and `make wheel` need. Any Python from 3.11 on runs this, without packages.

`python3 -m tools.set_up packages|demo|all|wheel`: the Python packages, for gates and unit tests; all parts of the demo;
all parts; the wheel. Parts that are current are not touched. If all are current, no process is started.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the user's Python
    _MESSAGE = "Python 3.11 or later is needed, got %d.%d; install it, and run `make PYTHON=python3.12` with it"
    sys.exit(_MESSAGE % sys.version_info[:2])

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from tools.build_part import PROJECT, PulumiSource, Refusal, prerequisites, pulumi_cli, spark_reader
from tools.python_environment import REPOSITORY, PythonEnvironment
from tools.step_graph import STATUS_S, Step, StepGraph

GOALS: Final = ("packages", "demo", "all", "wheel")
PACKAGES, PULUMI, READER, KAFKA, SANDBOX = "Python packages", "Pulumi", "Spark reader", "Kafka", "sandbox"
"""The names of steps."""
_FOLDER: Final = REPOSITORY / ".cache" / "set-up"
_REMEDY: Final = "Check the network and the proxy, and run the command again. Complete parts are kept."
_MAVEN_REMEDY: Final = (
    "Maven needs a JDK, 17 or later, and a repository: check JAVA_HOME, the network and ~/.m2/settings.xml."
)


def missing_steps(goal: str) -> list[Step]:
    """Return the steps that lead to ``goal``, without those whose results are current.

    Raises Refusal if a step needs a tool that is not installed.
    """
    if goal == "wheel":
        return _wheel_steps()
    environment, selection = PythonEnvironment(), "demo" if goal == "demo" else "all"
    steps = []
    if not environment.current(selection):
        steps.append(Step(PACKAGES, _tool("python_environment", selection), remedy=_REMEDY))
    if goal == "packages":
        return steps
    packages = tuple(step.name for step in steps)
    python = (str(environment.python), "-m", "tools.sandbox_part")
    go = False
    if pulumi_cli.present(PROJECT.tools_cache) is None:
        source = pulumi_cli.choose(PROJECT.tools_cache).source
        go = source is PulumiSource.BUILD
        if source is PulumiSource.OFFICIAL:  # installed with Pulumi's SDK
            steps.append(Step(PULUMI, (*python, "pulumi"), packages, _REMEDY))
        else:
            steps.insert(0, Step(PULUMI, _tool("build_part", "pulumi"), remedy=_REMEDY))
    reader = spark_reader.is_missing(PROJECT)
    if reader:
        steps.append(Step(READER, _tool("build_part", "reader"), remedy=_MAVEN_REMEDY))
    if not steps and _is_stamped(goal):
        return []
    prerequisites.require(maven=reader, go=go)
    kafka = Step(KAFKA, (*python, "kafka"), packages, _REMEDY)
    return [*steps, kafka, Step(SANDBOX, (*python, goal), tuple(step.name for step in (*steps, kafka)), _REMEDY)]


def _wheel_steps() -> list[Step]:
    """Return the steps of the wheel, which needs hatchling and the Spark reader, and no package of ours."""
    prerequisites.require(maven=True, go=False)
    tools = Step("build tools", _tool("python_environment", "tools"), remedy=_REMEDY)
    reader = (
        [Step(READER, _tool("build_part", "reader"), remedy=_MAVEN_REMEDY)] if spark_reader.is_missing(PROJECT) else []
    )
    lines = Step("other Spark lines", _tool("build_wheel"), tuple(step.name for step in reader), _MAVEN_REMEDY)
    python = str(PythonEnvironment().tools / "bin" / "python")
    wheel = Step("wheel", (python, "-m", "hatchling", "build", "--target", "wheel"), (tools.name, lines.name))
    return [tools, *reader, lines, wheel]


def _tool(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"tools.{module}", *arguments)


def _is_stamped(goal: str) -> bool:
    """Return whether the sandbox is complete for ``goal``, or for all, which includes it."""
    stamp = _stamp()
    files = [_FOLDER / f"{each}.stamp" for each in (goal, "all")]
    return any(file.is_file() and file.read_text(encoding="utf-8") == stamp for file in files)


def _stamp() -> str:
    """Return a hash of what the steps after the builds depend on. Starts no process."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    toolchain = REPOSITORY / "validation" / "topicwarden" / "toolchain"
    parts = [
        os.path.realpath(java) if java else "",
        str(PROJECT.tools_cache),
        *PROJECT.stack_names(),
        *((toolchain / file).read_text(encoding="utf-8") for file in ("maven/kafka/jars.lock", "go/cli/go.mod")),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _lock(file: IO[str]) -> None:
    """Lock this clone. The steps inherit the lock, so that it is held until the steps of a killed set-up have ended."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - began
            print(f"another set-up runs in this clone: waiting for it, {waited:.0f} s", file=sys.stderr)
            time.sleep(STATUS_S)


def set_up(goal: str) -> int:
    """Run the missing steps of ``goal``. Return 0, or 2 if a step failed, or 128 and the number of a signal."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / ".lock").open("w", encoding="utf-8") as lock:
        _lock(lock)
        steps = missing_steps(goal)
        if not steps:
            return 0
        os.chdir(REPOSITORY)
        code = StepGraph("set-up", steps, _FOLDER, (lock.fileno(),)).run()
        if code == 0 and any(step.name == SANDBOX for step in steps):
            (_FOLDER / f"{goal}.stamp").write_text(_stamp(), encoding="utf-8")
    return code


def main(arguments: Sequence[str]) -> int:
    """Set up the goal that ``arguments`` name."""
    if len(arguments) != 1 or arguments[0] not in GOALS:
        print(f"expected one of {', '.join(GOALS)}, got '{' '.join(arguments)}'", file=sys.stderr)
        return 2
    try:
        return set_up(arguments[0])
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
