"""Test that every error of a command is one line with exit code 2, and never "not as declared"."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from kafka.errors import KafkaError

from tests.support.command import COMMAND, project, topicwarden
from topicwarden.cli import main
from topicwarden.cli.failure import CODE, ended_by_signal, line_for
from topicwarden.model.problem import Refusal


@pytest.mark.parametrize("error", [ValueError("a\nb"), KafkaError("gone"), RecursionError(), AssertionError()])
def test_an_unexpected_error_is_one_line_with_its_log(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)

    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    log = Path(line.rpartition("the traceback is in ")[2])
    assert log.parent == tmp_path / ".cache" / "logs"
    assert "Traceback (most recent call last)" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_a_refusal_is_printed_as_one_line() -> None:
    assert line_for(Refusal("the sandbox is not running")) == "the sandbox is not running"


def test_without_a_project_the_log_is_in_the_temporary_folder(tmp_path: Path) -> None:
    program = "from topicwarden.cli import main\nmain.app = lambda: 1 / 0\nmain.run()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "ZeroDivisionError: division by zero; the traceback is in " in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(list(tmp_path.glob("topicwarden-*.log"))) == 1


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied", "/srv/x"), "/srv/x cannot be read or written: Permission denied"),
        (OSError(28, "No space left on device"), "the output cannot be written: No space left on device"),
        (OSError(36, "File name too long", b"/a"), "/a cannot be read or written: File name too long"),
    ],
)
def test_an_operating_system_error_is_no_bug(error: OSError, line: str) -> None:
    assert line_for(error) == line


def test_a_read_only_data_folder_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    line = line_for(OSError(30, "Read-only file system", str(tmp_path / ".cache")))
    assert line.endswith("Read-only file system; set TOPICWARDEN_CACHE to a folder that can be written")


@pytest.mark.parametrize("command", ["check", "rules"])
def test_a_full_disk_for_the_output_is_reported_in_one_line(tmp_path: Path, command: str) -> None:
    project(tmp_path, {"topics/a.yaml": "{owner: x}\n"})
    done = subprocess.run(
        ["sh", "-c", f"exec '{COMMAND}' {command} > /dev/full"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "topicwarden: the output cannot be written: No space left on device\n")


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    project(tmp_path, {"topics/a.yaml": "{owner: x}\n"})
    command = f"exec '{COMMAND}' check >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "0 topics: 2 errors, 0 warnings\n")


@pytest.mark.parametrize(("ended", "code"), [(SystemExit(143), 143), (KeyboardInterrupt(), 130)])
def test_an_error_while_a_signal_ends_the_command_is_not_reported(
    ended: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        try:
            raise ended
        finally:
            raise KeyError("p")  # as a library that was interrupted half-way does when it is closed

    monkeypatch.setattr(main, "app", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main.run()
    assert (stopped.value.code, capsys.readouterr().err) == (code, "")


def test_the_page_of_exit_codes_says_what_an_interrupt_leaves(tmp_path: Path) -> None:
    shown = topicwarden("help", "exit-codes", cwd=tmp_path).out
    codes = (CODE, *map(ended_by_signal, (KeyboardInterrupt(), SystemExit(143))))
    assert [code for code in codes if not re.search(rf"^ *{code}  +[a-zA-Z]", shown, re.MULTILINE)] == []
    assert re.search("^ *130 .*up and destroy then say what is", shown, re.MULTILINE)
