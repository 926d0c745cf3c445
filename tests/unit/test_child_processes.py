"""Test how child processes are started; how they end: `engine/processes`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from topicwarden import child_processes


@pytest.mark.parametrize("death_signal", [True, False])
def test_a_relative_entry_of_the_path_is_that_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, death_signal: bool
) -> None:
    for folder in ("bin", "project"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin" / "pulumi").write_text('#!/bin/sh\necho "$PWD"\n')
    (tmp_path / "bin" / "pulumi").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    pulumi = shutil.which("pulumi", path="bin")
    assert pulumi == "bin/pulumi"
    done = child_processes.run([pulumi], tmp_path / "project", dict(os.environ), death_signal=death_signal)
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "project"))


_LAST_LINES = """
import signal, sys
def end(*_):
    print("made", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, end)
print("begun", flush=True)
print("begun, too", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("closed", [False, True])
def test_lines_that_a_child_writes_while_a_signal_ends_it_are_passed_on(tmp_path: Path, closed: bool) -> None:
    lines: list[str] = []

    def interrupt_at_the_first(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            raise KeyboardInterrupt
        if closed:
            raise BrokenPipeError

    with pytest.raises(KeyboardInterrupt):
        child_processes.run(
            [sys.executable, "-c", _LAST_LINES], tmp_path, dict(os.environ), on_line=interrupt_at_the_first
        )
    assert lines == ["begun\n", "begun\n", "begun, too\n", "made\n"]
