"""Test how child processes are started; how they end: `engine/processes`."""

from __future__ import annotations

import os
import shutil
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
