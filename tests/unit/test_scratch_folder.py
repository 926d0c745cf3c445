"""Test temporary folders: who can read them, and that nothing stays, even of a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from topicwarden.scratch_folder import scratch_folder

_HOLD = """
import sys
from pathlib import Path
from topicwarden.scratch_folder import scratch_folder
with scratch_folder() as folder:
    (folder / "keys").write_text("of records")
    print(folder, flush=True)
    sys.stdin.read()
"""


def _holding(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that uses a scratch folder in ``temporary`` until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        env={"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    process, folder = _holding(tmp_path)
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    process.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_the_next_process_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "topicwarden-scratch-link").symlink_to(elsewhere)
    other, in_use = _holding(tmp_path)
    killed, left = _holding(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.exists()
    following, own = _holding(tmp_path)
    assert not left.exists()
    assert (in_use / "keys").exists() and own.exists() and elsewhere.exists()
    for process in (other, following):
        process.communicate("")


def test_a_folder_that_is_removed_before_it_is_open_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, created = tempfile.mkdtemp, list[str]()

    def removed(prefix: str) -> str:
        created.append(make(prefix=prefix))
        if len(created) == 1:
            Path(created[0]).rmdir()
        return created[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed)
    with scratch_folder() as folder:
        assert str(folder) == created[1]
