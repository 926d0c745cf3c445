"""Test that a mistyped stack is refused by every command that has ``--stack``, before anything else happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

from tests.support.command import Outcome, project, topicwarden
from tests.support.documents import PARSER

REFUSAL = "topicwarden: no stack prdo; stacks: dev, prod; did you mean prod?\n"


def _with_stack(group: TyperGroup = PARSER, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield each command with ``--stack``, and values of the other parameters that it requires."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _with_stack(command, (*path, name))
        elif any("--stack" in parameter.opts for parameter in command.params):
            assert isinstance(command, TyperCommand)
            required = [each for each in command.params if each.required and "--stack" not in each.opts]
            yield (*path, name), [word for each in required for word in (each.opts[0], "x")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"}, ("dev", "prod"))


COMMANDS = [*_with_stack()]


@pytest.mark.parametrize(("path", "required"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_a_mistyped_stack_is_refused(path: tuple[str, ...], required: list[str], root: Path) -> None:
    assert topicwarden(*path, *required, "--stack", "prdo", cwd=root) == Outcome(2, "", REFUSAL)


def test_a_mistyped_stack_among_several_is_refused(root: Path) -> None:
    for command in ("check", "plan", "audit", "watch", "usage"):
        done = topicwarden(command, "--stack", "dev", "--stack", "prdo", cwd=root)
        assert done == Outcome(2, "", REFUSAL), command


def test_a_mistyped_stack_of_another_folder_is_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for command in ("audit", "watch"):
        done = topicwarden(command, "--stack", "prdo", "--project", root, cwd=elsewhere)
        assert done == Outcome(2, "", REFUSAL), command


IMPORTED = """
import sys
from topicwarden.cli.main import run
try:
    run()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize("command", ["plan", "up", "audit", "watch"])
def test_a_mistyped_stack_is_refused_before_anything_is_loaded(command: str, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, command, "--stack", "prdo"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, REFUSAL)
    assert {"pyspark", "py4j", "pulumi", "grpc", "kafka"} & set(done.stdout.split()) == set()
