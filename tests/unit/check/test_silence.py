"""Test that no command is silent for more than ten seconds, and what a terminal gets that wants no escape sequences."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.command import COMMAND, project, topicwarden
from topicwarden.cli import terminal

REDIRECTED = """
import os, sys
from topicwarden.cli import terminal
from topicwarden.cli.terminal import waiting
terminal.LINE_INTERVAL_S = 0.02
with waiting("starting Spark"):
    log = os.open(os.devnull, os.O_WRONLY)
    os.dup2(log, 1), os.dup2(log, 2)  # as while Spark starts
    sys.stdin.read()
"""


def on_terminal(*command: str, variables: dict[str, str], until: str = "", cwd: Path | None = None) -> str:
    """Return what ``command`` writes to a terminal until it ends, or until it has written ``until`` twice."""
    ours, theirs = pty.openpty()
    names = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS")
    environment = {name: value for name, value in os.environ.items() if name not in names} | variables
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, cwd=cwd, env=environment, close_fds=True
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65_536):
            text += part
            if until and text.count(until.encode()) >= 2:
                break
    except OSError:  # the child has closed the terminal
        pass
    finally:
        child.communicate(timeout=60)
        os.close(ours)
    return text.decode()


def test_progress_moves_on_a_terminal_while_the_output_is_redirected() -> None:
    shown = on_terminal(sys.executable, "-c", REDIRECTED, until="starting Spark", variables={"TERM": "xterm"})
    assert shown.count("starting Spark") >= 2
    assert "\x1b" in shown


@pytest.mark.nightly("The suite keeps NO_COLOR.", stays=("no colour",))
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}], ids=["dumb", "no colour"])
def test_progress_on_a_terminal_without_escapes_is_lines(variables: dict[str, str]) -> None:
    shown = on_terminal(sys.executable, "-c", REDIRECTED, until="starting Spark: ", variables=variables)
    assert shown.count("starting Spark: ") >= 2
    assert "\x1b" not in shown


def test_progress_is_printed_to_a_pipe_while_the_output_is_redirected() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", REDIRECTED], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr
        assert [child.stderr.readline().partition(":")[0] for _ in range(2)] == ["starting Spark"] * 2
        child.communicate()


def test_a_command_without_progress_of_its_own_says_that_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "LINE_INTERVAL_S", 0.02)
    spoken = threading.Event()
    line = terminal._Stage.line

    def speak(stage: terminal._Stage) -> str:
        spoken.set()
        return line(stage)

    monkeypatch.setattr(terminal._Stage, "line", speak)
    monkeypatch.setattr("topicwarden.operations.check.selected_stacks", lambda *_: spoken.wait(60) and ["dev"])
    root = project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})
    done = topicwarden("check", "--format", "json", cwd=root)
    assert done.err.startswith("topicwarden check: ")
    assert done.out.startswith("{")


COMMANDS = (
    ["--help"],
    ["up", "--help"],
    ["up"],
    ["check"],
    ["check", "--all-stacks"],
    ["show"],
    ["show", "a"],
    ["help", "exit-codes"],
    ["rules", "retention"],
    ["doctor"],
    ["sandbox", "status"],
    ["plan", "--stack", "dev"],
)


@pytest.mark.nightly(
    "The suite keeps NO_COLOR, and of the commands help, an error of the options, problems, and a refusal.",
    stays=[f"no colour-{arguments}" for arguments in ("up --help", "up", "check", "plan --stack dev")],
)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}], ids=["dumb", "no colour"])
def test_no_command_writes_escapes_to_a_terminal_that_wants_none(
    variables: dict[str, str], arguments: list[str], tmp_path: Path
) -> None:
    root = project(tmp_path, {"topics/a.yaml": "partitions: x\n"}, ("dev", "prod"))
    shown = on_terminal(str(COMMAND), *arguments, cwd=root, variables=variables)
    assert shown
    assert "\x1b" not in shown
