"""Test that only one watch uses a history, and that a second one tells who does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from topicwarden.extensions.watch.history_lock import HistoryInUse, history_lock, lock_path
from topicwarden.model.problem import Refusal

HISTORY = "file:///history"
_HOLD = """
import sys, time
from pathlib import Path
from topicwarden.extensions.watch.history_lock import history_lock
with history_lock(Path(sys.argv[1]), "file:///history"):
    print("locked", flush=True)
    time.sleep(60)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """Start a process that locks ``path``; return once it does."""
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "locked\n"
    return process


def test_a_second_watch_tells_who_uses_the_history_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    path = lock_path(HISTORY, tmp_path / "history", tmp_path)
    with holding(path) as process:
        try:
            with pytest.raises(Refusal) as refused, history_lock(path, HISTORY):
                pass
            assert f"process {process.pid} on host {socket.gethostname()}, since 20" in str(refused.value)
            assert HISTORY in str(refused.value)
        finally:
            process.send_signal(signal.SIGKILL)
    with history_lock(path, HISTORY):
        assert f'"pid": {os.getpid()}' in path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == ""


def test_a_lock_is_free_again_after_the_block_also_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(ValueError, match="inside"), history_lock(path, HISTORY):
        raise ValueError("inside")
    with (
        history_lock(path, HISTORY),
        pytest.raises(HistoryInUse, match="two stacks of this watch"),
        history_lock(path, HISTORY),
    ):
        pass


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[1]", b"[" * 4_000, b"\xff\x00" * 4_000),
        *(b'{"pid": "x", "host": 1, "since": 2}', b'{"pid": 1e999, "host": 1, "since": 2}'),
    ],
)
def test_an_unreadable_holder_is_no_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.lock"
    with history_lock(path, HISTORY):
        path.write_bytes(content)
        with pytest.raises(Refusal, match="another watch uses the history") as refused, history_lock(path, HISTORY):
            pass
    assert str(refused.value).isprintable()


def test_a_hostile_holder_cannot_forge_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with history_lock(path, HISTORY):
        path.write_text('{"pid": 1, "host": "a\\nb\\u001b[0m", "since": "x"}', encoding="utf-8")
        with pytest.raises(Refusal) as refused, history_lock(path, HISTORY):
            pass
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_a_link_in_the_location_of_the_lock_is_refused_and_its_target_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept", encoding="utf-8")
    (tmp_path / "a.lock").symlink_to(target)
    with pytest.raises(Refusal, match="cannot be locked"), history_lock(tmp_path / "a.lock", HISTORY):
        pass
    assert target.read_text(encoding="utf-8") == "kept"


def test_histories_on_other_machines_have_a_lock_each_in_the_cache(tmp_path: Path) -> None:
    paths = {lock_path(f"s3a://bucket/{name}", None, tmp_path) for name in ("a", "b")}
    assert len(paths) == 2
    assert all(path.parent == tmp_path / "watch" for path in paths)
