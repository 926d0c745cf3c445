"""Run the command as a user does: in this process, or in a separate process if a test needs one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cases import find_case
from topicwarden.cli import main

HERE = Path(__file__).parents[1] / "unit" / "check"
COMMAND = Path(sys.executable).with_name("topicwarden")
# Variables that a build server, a terminal or a user may have set.
_SET_ELSEWHERE = ("GITHUB_ACTIONS", "FORCE_COLOR", "NO_COLOR", "CI")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def topicwarden(*arguments: str | Path, cwd: Path, **variables: str) -> Outcome:
    """Run the command in this process, because starting Python and importing modules would take most of the time."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [str(COMMAND), *map(str, arguments)])
        for name in _SET_ELSEWHERE:
            patch.delenv(name, raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            main.run()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Outcome(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def process(*arguments: str | Path, cwd: Path, **variables: str) -> Outcome:
    """Run the command in a separate process."""
    environment = {name: value for name, value in os.environ.items() if name not in _SET_ELSEWHERE}
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def bad_project(folder: Path) -> Path:
    """Write a project with many kinds of problems into ``folder/kafka``, where ``folder`` is a repository of Git."""
    (folder / ".git").mkdir()
    return find_case(HERE / "cases", "bad", "many-kinds").write(folder / "kafka")


def project(root: Path, files: dict[str, str], stacks: tuple[str, ...] = ("dev",)) -> Path:
    """Create a project with ``files`` (a path such as ``topics/a.yaml``, and its text) and ``stacks``."""
    stack_files = {f"stacks/Pulumi.{stack}.yaml": "config: {}\n" for stack in stacks}
    for name, text in {"Pulumi.yaml": "name: p\nruntime: python\n", **stack_files, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return root
