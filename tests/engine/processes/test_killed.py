"""Test that a command leaves no child process, temporary folder or half-written file, however it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.projects import borrowing_cache, project_of
from topicwarden.child_processes import run
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, environment

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]
_TIMEOUT_S = 120
PROGRAMS = [sys.executable, "-m", "tests.engine.processes.programs"]


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def _below(pid: int) -> dict[int, str]:
    """Return the command lines of all descendants of ``pid``, by process id."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    found: dict[int, str] = {}
    level = {pid}
    while level:
        level = {int(row[0]) for row in rows if int(row[1]) in level}
        found |= {int(row[0]): row[2] for row in rows if int(row[0]) in level}
    return found


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except OSError:
        return True


def _ended(program: str, argument: Path, number: signal.Signals, at: str, variables: Mapping[str, str]) -> int:
    """Start the program, send the signal when a descendant has ``at`` in its command line, and wait for all."""
    command = [*PROGRAMS, program, str(argument)]
    quiet = subprocess.DEVNULL
    # Use a separate session, because a signal to a terminal's process group would reach the children directly.
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env={**os.environ, **variables}, stderr=quiet, start_new_session=True
    )
    found: dict[int, str] = {}

    def there() -> bool:
        assert process.poll() is None, "it ended by itself"
        found.update(_below(process.pid))
        return any(at in line for line in found.values())

    _until(there, f"nothing with {at} was started")
    process.send_signal(number)
    code = process.wait(_TIMEOUT_S)
    _until(lambda: all(map(_gone, found)), f"left over: {[line for pid, line in found.items() if not _gone(pid)]}")
    return code


@pytest.mark.parametrize("number", SIGNALS)
def test_a_child_process_of_a_thread_ends_with_the_command(number: signal.Signals, tmp_path: Path) -> None:
    code = _ended("child", tmp_path, number, "import time; time.sleep(600)", {})
    assert code == (128 + number if number is signal.SIGTERM else -number)


@pytest.mark.skipif(sys.platform != "linux", reason="no death signal")
@pytest.mark.parametrize("program", ["cleanup", "cleanup_in_lines"])
def test_a_child_process_of_a_killed_command_ends_its_work(program: str, tmp_path: Path) -> None:
    process = subprocess.Popen([*PROGRAMS, program, str(tmp_path)], cwd=REPOSITORY, start_new_session=True)
    _until((tmp_path / "started").exists, "the child starts")
    process.kill()
    process.wait(_TIMEOUT_S)
    state = tmp_path / "state"
    _until(lambda: state.exists() and state.read_text() == "complete", "the child ends its work")


def test_output_is_passed_on_while_the_child_runs(tmp_path: Path) -> None:
    """The child waits for the answer to its first line, and ends with half a line."""
    code = (
        "import os, sys, time\nprint('one', flush=True)\nwhile not os.path.exists('answer'): time.sleep(0.01)\n"
        "sys.stderr.write('t\\xe9o\\r\\n'); sys.stderr.flush(); sys.stdout.write('end'); sys.exit(3)"
    )
    lines: list[str] = []

    def answer(line: str) -> None:
        lines.append(line)
        (tmp_path / "answer").touch()

    done = run([sys.executable, "-c", code], tmp_path, {"PYTHONUTF8": "1"}, on_line=answer)
    assert (done.returncode, lines) == (3, ["one\n", "t\xe9o\n", "end"])
    assert (done.stdout, done.stderr) == ("one\nt\xe9o\nend", "")


def test_output_and_errors_are_separate_or_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["/bin/sh", "-c", "echo output; echo errors >&2"]
    done = run(command, tmp_path, {})
    assert (done.stdout, done.stderr) == ("output\n", "errors\n")
    assert capfd.readouterr() == ("", "")
    done = run(command, tmp_path, {}, show=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert capfd.readouterr() == ("output\n", "errors\n")


@pytest.fixture
def slow(tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, dict[str, str]]:
    """A project whose program runs for ten minutes, and the environment variables for ``pulumi``."""
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(borrowing_cache(tmp_path / "cache")))
    project = project_of(tmp_path / "project", {})
    (tmp_path / "state").mkdir()
    variables = {**environment(project, "dev"), "PULUMI_BACKEND_URL": (tmp_path / "state").as_uri()}
    made = subprocess.run(
        ["pulumi", "stack", "init", "dev", "--non-interactive"],
        cwd=project.root,
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (project.stacks / "__main__.py").write_text("import time\ntime.sleep(600)\n", encoding="utf-8")
    return project, variables


@pytest.mark.nightly("One signal that a process may handle and SIGKILL stay.", stays=("9", "15"))
@pytest.mark.parametrize("number", SIGNALS)
def test_the_preview_ends_with_the_command(
    slow: tuple[Project, dict[str, str]], number: signal.Signals, tmp_path: Path
) -> None:
    project, variables = slow
    (tmp_path / "tmp").mkdir()
    _ended("engine", project.root, number, "pulumi preview", {**variables, "TMPDIR": str(tmp_path / "tmp")})
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.nightly("One signal, SIGTERM, stays in the suite.", stays=("15",))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_starting_jvm_ends_with_the_command(
    tools: Toolchain, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(borrowing_cache(tmp_path / "cache")))
    (tmp_path / "tmp").mkdir()
    folders = {"TMPDIR": str(tmp_path / "tmp"), "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={tmp_path / 'tmp'}"}
    _ended("spark", project_of(tmp_path / "project", {}).root, number, "org.apache.spark.deploy.SparkSubmit", folders)
    assert [path.name for path in (tmp_path / "tmp").iterdir() if "hsperfdata" not in path.name] == []


def test_an_audit_whose_jvm_ends_prints_one_line_and_no_report(
    tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(borrowing_cache(tmp_path / "cache")))
    project = project_of(tmp_path / "project", {})
    done = subprocess.run(
        [*PROGRAMS, "dying_spark", str(project.root)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.splitlines()[-1].startswith("topicwarden: Spark's JVM ended before the audit did")
    assert "Traceback" not in done.stderr
