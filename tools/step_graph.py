"""Run the steps of an installation side by side, each after the steps that it needs. Uses the standard library only.

One line says what is done, what runs and what remains: on a terminal it is updated each second, elsewhere it is printed
at least every eight seconds. The first step that fails ends the others. So does an interrupt.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import TextIO

STATUS_S = 8.0
"""The longest time without a line, where there is no terminal."""
_POLL_S = 0.1
_END_S = 5.0
"""How long a process may take to end after SIGTERM."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LINES = 25
"""How many lines of its output a failed step shows."""


@dataclass(frozen=True)
class Step:
    """A command with the names of the steps that must have succeeded before. ``remedy`` is shown if it fails."""

    name: str
    command: Sequence[str]
    needs: tuple[str, ...] = ()
    remedy: str = ""


@dataclass
class _Running:
    step: Step
    process: subprocess.Popen[bytes]
    log: Path
    began: float


class StepGraph:
    """Steps of one installation. ``logs`` is the folder for their output. They inherit the descriptors ``held``."""

    def __init__(self, title: str, steps: Sequence[Step], logs: Path, held: Sequence[int] = ()) -> None:
        TopologicalSorter({step.name: step.needs for step in steps}).prepare()  # raises CycleError
        self._title, self._waiting, self._logs, self._held = title, list(steps), logs, held
        self._running: list[_Running] = []
        self._done: list[str] = []
        self._count, self._signal = len(steps), 0

    def run(self, output: TextIO = sys.stderr) -> int:
        """Run all steps, and return 0, or 2 if one failed, or 128 and the number of the signal that ended them."""
        self._logs.mkdir(parents=True, exist_ok=True)
        status = _StatusLine(output)
        began = time.monotonic()
        with self._noting_signals():
            try:
                while self._waiting or self._running:
                    self._start_ready()
                    if self._signal:
                        status.close(f"{self._title}: ended by {signal.Signals(self._signal).name}")
                        return 128 + self._signal
                    failed = self._collect()
                    if failed:
                        status.close(_failure(failed))
                        return 2
                    if self._running:
                        status.show(self._status(began), self._done)
                        time.sleep(_POLL_S)
            finally:
                self._end()
        status.close(f"{self._title}: done in {time.monotonic() - began:.0f} s")
        return 0

    def _start_ready(self) -> None:
        """Start each step that needs no other one. A signal is only noted, so no started process is forgotten."""
        for step in [each for each in self._waiting if set(each.needs) <= set(self._done)]:
            if self._signal:
                return
            self._waiting.remove(step)
            log = self._logs / (re.sub(r"\W+", "-", step.name.lower()).strip("-") + ".log")
            with log.open("wb") as file:
                process = subprocess.Popen(
                    step.command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=self._held,
                )
            self._running.append(_Running(step, process, log, time.monotonic()))

    def _collect(self) -> _Running | None:
        """Note the steps that have ended, and return one that failed."""
        for each in [each for each in self._running if each.process.poll() is not None]:
            self._running.remove(each)
            if each.process.returncode:
                return each
            self._done.append(each.step.name)
        return None

    def _status(self, began: float) -> str:
        now = time.monotonic()
        running = ", ".join(f"{each.step.name} ({now - each.began:.0f} s)" for each in self._running)
        remaining = ", ".join(step.name for step in self._waiting) or "nothing else"
        done = f"{len(self._done)} of {self._count} steps done"
        return f"{self._title}: {now - began:.0f} s, {done}; running: {running}; then: {remaining}"

    @contextmanager
    def _noting_signals(self) -> Iterator[None]:
        """Only note a signal: an exception at the start of a process would lose the process."""

        def note(number: int, _: FrameType | None) -> None:
            self._signal = number

        before = {number: signal.signal(number, note) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self) -> None:
        """End the process groups of all steps that still run, and wait for them."""
        for each in self._running:
            _kill(each.process, signal.SIGTERM)
        latest = time.monotonic() + _END_S
        for each in self._running:
            with suppress(subprocess.TimeoutExpired):
                each.process.wait(max(0.0, latest - time.monotonic()))
            _kill(each.process, signal.SIGKILL)  # also what the step has left behind
            each.process.wait()
        self._running.clear()


class _StatusLine:
    """The one line: rewritten on a terminal, else printed every few seconds and whenever a step has ended."""

    def __init__(self, output: TextIO) -> None:
        self._output, self._terminal = output, output.isatty()
        self._next, self._steps = 0.0, 0

    def show(self, line: str, done: Sequence[str]) -> None:
        now = time.monotonic()
        if now < self._next and len(done) == self._steps:
            return
        self._steps, self._next = len(done), now + (1.0 if self._terminal else STATUS_S)
        if self._terminal:
            with suppress(OSError):
                line = line[: os.get_terminal_size(self._output.fileno()).columns - 1]
            self._write(f"\r\x1b[K{line}")
        else:
            self._write(f"{line}\n")

    def close(self, line: str) -> None:
        self._write(("\r\x1b[K" if self._terminal else "") + line + "\n")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a closed pipe must not leave processes behind
            self._output.write(text)
            self._output.flush()


def _failure(failed: _Running) -> str:
    lines = failed.log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    code = failed.process.returncode
    reason = f"exit code {code}" if code > 0 else signal.Signals(-code).name
    shown = [f"{failed.step.name} failed ({reason}); its output is in {failed.log}:"]
    shown += [f"  {line}" for line in lines[-_LINES:]]
    return "\n".join([*shown, *([failed.step.remedy] if failed.step.remedy else [])])


def _kill(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the group of a process, which may have ended; its group may have not."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
