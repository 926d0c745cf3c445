"""The command as a user runs it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1] / "unit" / "check"
BAD = HERE / "bad"
COMMAND = Path(sys.executable).with_name("topicwarden")
# What a build server, a terminal or a user may have set.
_SET_ELSEWHERE = ("GITHUB_ACTIONS", "FORCE_COLOR", "NO_COLOR", "CI")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def topicwarden(*arguments: str | Path, cwd: Path, **variables: str) -> Outcome:
    environment = {name: value for name, value in os.environ.items() if name not in _SET_ELSEWHERE}
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def project(root: Path, files: dict[str, str], stacks: tuple[str, ...] = ("dev",)) -> Path:
    """A project of these files (``topics/a.yaml``: its text) and stacks."""
    stack_files = {f"stacks/Pulumi.{stack}.yaml": "config: {}\n" for stack in stacks}
    for name, text in {"Pulumi.yaml": "name: p\nruntime: python\n", **stack_files, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return root
