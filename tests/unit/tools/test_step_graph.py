"""Test how the steps of a set-up start, fail and end, with real processes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from graphlib import CycleError
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tools import step_graph
from tools.step_graph import Step, StepGraph

_LONG_S = 60
"""The deadline of conditions, and how long a process sleeps that a test must end."""


def shell(name: str, script: str, *needs: str, remedy: str = "") -> Step:
    return Step(name, ("sh", "-c", script), needs, remedy)


def poll(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONG_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.is_file() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def run(tmp_path: Path, *steps: Step) -> tuple[int, str]:
    output = io.StringIO()
    code = StepGraph("set-up", steps, tmp_path / "logs").run(output)
    return code, output.getvalue()


def test_steps_without_needs_run_side_by_side_and_others_after_their_needs(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    steps = [
        shell("last", f"test -f {a} && test -f {b}", "first", "second"),
        shell("first", f"touch {a}; until test -f {b}; do sleep 0.01; done"),
        shell("second", f"touch {b}; until test -f {a}; do sleep 0.01; done"),
    ]
    code, output = run(tmp_path, *steps)
    assert code == 0
    assert output.splitlines()[-1].startswith("set-up: done in ")


def test_the_first_failure_ends_the_others_and_shows_its_output_and_remedy(tmp_path: Path) -> None:
    pid, after = tmp_path / "pid", tmp_path / "after"
    steps = [
        shell("long", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep {_LONG_S}"),
        shell(
            "bad part", f"until test -f {pid}; do sleep 0.01; done; echo 'no route'; exit 3", remedy="check the proxy"
        ),
        shell("next", f"touch {after}", "bad part"),
    ]
    code, output = run(tmp_path, *steps)
    assert code == 2
    log = tmp_path / "logs" / "bad-part.log"
    assert output.endswith(f"bad part failed (exit code 3); its output is in {log}:\n  no route\ncheck the proxy\n")
    assert not after.exists()
    assert not alive(int(pid.read_text()))


def test_a_failed_step_of_many_lines_shows_the_last_ones(tmp_path: Path) -> None:
    _, output = run(tmp_path, shell("bad", "for i in $(seq 100); do echo line $i; done; kill -9 $$"))
    assert "bad failed (SIGKILL)" in output
    assert "  line 100\n" in output and "  line 76\n" in output and "line 75\n" not in output


def test_without_a_terminal_no_phase_is_silent_and_each_line_says_what_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert step_graph.STATUS_S < 10
    monkeypatch.setattr(step_graph, "STATUS_S", 0.2)
    lines: list[str] = []
    ready = tmp_path / "ready"

    class Output(io.StringIO):
        def write(self, text: str) -> int:
            lines.append(text)
            if len(lines) == 4:
                ready.touch()
            return len(text)

    steps = [shell("slow", f"until test -f {ready}; do sleep 0.01; done"), shell("after", "true", "slow")]
    assert StepGraph("set-up", steps, tmp_path / "logs").run(Output()) == 0
    for line in lines[:4]:
        assert "0 of 2 steps done; running: slow (" in line
        assert line.endswith("); then: after\n")


def test_an_interrupt_ends_steps_and_what_they_have_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep {_LONG_S} & echo $! $$ > {pids}.new; mv {pids}.new {pids}; trap '' TERM; wait; sleep {_LONG_S}"
    code = (
        "import sys; from pathlib import Path; from tools import step_graph; step_graph._END_S = 0.2\n"
        "step = step_graph.Step('long', ('sh', '-c', sys.argv[1]))\n"
        "sys.exit(step_graph.StepGraph('set-up', [step], Path(sys.argv[2])).run())"
    )
    command = [sys.executable, "-c", code, script, str(tmp_path / "logs")]
    with subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        poll(pids.is_file)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=_LONG_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert "set-up: ended by SIGTERM" in errors
    for pid in map(int, pids.read_text().split()):
        poll(lambda pid=pid: not alive(pid))  # type: ignore[misc]


def test_an_interrupt_while_a_process_starts_ends_this_process_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    code, output = run(tmp_path, shell("first", f"sleep {_LONG_S}"), shell("second", f"sleep {_LONG_S}"))
    assert code == 128 + signal.SIGINT
    assert "ended by SIGINT" in output
    assert [process.returncode for process in started] == [-signal.SIGTERM]  # the second one was not started
    assert signal.getsignal(signal.SIGINT) is before


def test_a_closed_output_leaves_no_process_behind(tmp_path: Path) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    assert StepGraph("set-up", [shell("one", "true")], tmp_path / "logs").run(Closed()) == 0


def test_steps_that_need_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CycleError):
        StepGraph("set-up", [shell("a", "true", "b"), shell("b", "true", "a")], tmp_path)
