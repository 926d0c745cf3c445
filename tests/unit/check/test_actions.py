"""Test that user input never becomes a workflow command of GitHub Actions, which reads all output of a step.

The runner trims a line before it looks for ``::`` at the start, and it finds ``##[`` anywhere in a line
(``ActionCommand.TryParseV2`` and ``TryParse``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Outcome, project, topicwarden

ATTACK = "first\\n  ::error::planted\\r::warning::planted ##[error]planted \\e[31mred"
TOPIC = "partitions: 1\nreplication_factor: 1\n"


def _commands(done: Outcome) -> list[str]:
    lines = [line.strip() for line in (done.out + done.err).splitlines()]
    return [line for line in lines if line.startswith("::") or "##[" in line]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    policy = (
        f'expressions:\n  - {{id: never, require: "false", message: "{ATTACK}"}}\n'
        f'rules:\n  owner: {{allowed: ["{ATTACK}"]}}\n'
        f'waivers:\n  - {{rule: owner, topics: "*", until: 2020-01-01, reason: "{ATTACK}", by: "{ATTACK}"}}\n'
    )
    topic = f'{TOPIC}owner: "x{ATTACK}"\ndescription: "{ATTACK}"\n'
    return project(tmp_path, {"policies/p.yaml": policy, "topics/a.yaml": topic})


@pytest.mark.parametrize("coloured", ["", "1"])
def test_a_problem_is_one_line_of_text(root: Path, coloured: str) -> None:
    done = topicwarden("check", "--format", "text", cwd=root, GITHUB_ACTIONS="true", FORCE_COLOR=coloured)
    assert (done.code, _commands(done)) == (1, [])
    assert done.out.count("first ") == 6
    assert "\x1b[31mred" not in done.out


def test_the_name_of_a_stack_is_never_run_as_a_command(root: Path) -> None:
    (root / "stacks/Pulumi.a\n::error::planted.yaml").write_text("config: []\n")
    done = topicwarden("check", "--format", "text", cwd=root, GITHUB_ACTIONS="true")
    assert (done.code, _commands(done)) == (1, [])


@pytest.mark.parametrize("arguments", [("show",), ("show", "a"), ("plan", "--stack", "dev"), ("check", "--stack", "x")])
def test_other_commands_print_none_either(root: Path, arguments: tuple[str, ...]) -> None:
    done = topicwarden(*arguments, cwd=root, GITHUB_ACTIONS="true")
    assert _commands(done) == []


def test_a_message_of_several_lines_stays_whole_for_machines(root: Path) -> None:
    done = topicwarden("check", "--format", "json", cwd=root)
    assert "first\\n  ::error::planted" in done.out
