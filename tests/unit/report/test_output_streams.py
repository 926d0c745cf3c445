"""Test that the work of a command does not depend on what reads its output."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.support.command import COMMAND, project
from topicwarden import child_processes
from topicwarden.cli import terminal
from topicwarden.report import terminal_output
from topicwarden.report.terminal_output import open_standard_outputs

VALID = "{owner: x, partitions: 1, replication_factor: 1, description: x}\n"
DEPLOY = """
import time
for name in "ab":
    print(f" +  kafka:index:Topic {name} created (0.1s)", flush=True)
    time.sleep(0.1)
open("deployed", "w").close()
"""


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    """Return the descriptor of a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@contextmanager
def unread(closed_pipe: int) -> Iterator[None]:
    """Make standard output and standard error pipes whose reader has gone."""
    out, err = (
        io.TextIOWrapper(io.FileIO(os.dup(closed_pipe), "w"), encoding="utf-8", line_buffering=True) for _ in range(2)
    )
    with redirect_stdout(out), redirect_stderr(err):
        with pytest.raises(BrokenPipeError):
            print("the pipe is closed")
        open_standard_outputs()
        yield


def test_a_deploy_goes_on_without_a_reader(tmp_path: Path, closed_pipe: int) -> None:
    command = [sys.executable, "-c", DEPLOY]
    with unread(closed_pipe):
        child_processes.run(command, tmp_path, dict(os.environ), on_line=terminal.engine_output())
    assert (tmp_path / "deployed").exists()


def test_no_kind_of_output_needs_a_reader(monkeypatch: pytest.MonkeyPatch, closed_pipe: int) -> None:
    monkeypatch.setattr(terminal, "LINE_INTERVAL_S", 0.01)
    with unread(closed_pipe):
        with terminal.never_silent("reading"):
            time.sleep(0.1)
        terminal_output.write("text\n")
        terminal_output.note("a note")
        terminal.print_wrapped("a warning")
        terminal_output.console().print("a table")
        print("x" * 100_000, flush=True)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_exit_code_of_a_check_does_not_depend_on_a_reader(stream: str, closed_pipe: int, tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": VALID})
    out, err = (closed_pipe if name == stream else subprocess.PIPE for name in ("stdout", "stderr"))
    done = subprocess.run([COMMAND, "check"], cwd=root, check=False, text=True, stdout=out, stderr=err)
    assert (done.returncode, "Error" in (done.stderr or "")) == (0, False)


def test_what_an_encoding_does_not_have_is_escaped() -> None:
    moves = "show([ReplicaMove('orders', 0, (1, 2), (3, 2), 1, 1)], None, kept=False)"
    code = (
        "from topicwarden.cli.replica_moves_text import show\n"
        "from topicwarden.plan.placement.replica_placement import ReplicaMove\n"
        "from topicwarden.report.terminal_output import open_standard_outputs\n"
        f"open_standard_outputs()\n{moves}\nprint('–')"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "\\u2192 3 2" in done.stdout
    assert done.stdout.endswith("\\u2013\n")


def test_a_stream_without_buffer_shows_each_line_at_once() -> None:
    code = (
        "from topicwarden.report.terminal_output import open_standard_outputs; open_standard_outputs();"
        "print('shown'); import os; os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-u", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "shown\n"
