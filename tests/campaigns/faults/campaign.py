"""Run each command while something fails, then run it again: the second run must end the work and leave nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.campaigns.faults.cluster import BROKERS, FaultyCluster
from tests.campaigns.faults.commands import COMMANDS, Work
from tests.support.projects import BIN

LIMIT_S = 300.0
"""The longest time, in seconds, that any command may take with any fault."""
_MARKER = "TOPICWARDEN_FAULT_ROUND"
_BUGS = ("Traceback", "unexpected error", "panic:", "goroutine ", "Exception in thread")
_HOLDS_S = 20.0
"""How long a fault lasts, in seconds, unless the command ends earlier: longer than every time-out but the scan's."""


@dataclass
class Round:
    """One disturbed run, and what the next run made of it."""

    fault: str
    command: str
    after_s: float
    code: int | None = None
    seconds: float = 0.0
    hit: bool = False
    """Whether the command was still running when the fault began."""
    trouble: list[str] = field(default_factory=list)
    line: str = ""

    @property
    def outcome(self) -> str:
        if self.code is None:
            return "hung"
        return "killed" if self.code < 0 else "succeeded" if self.code in COMMANDS[self.command].codes else "ended"


Fault = Callable[[FaultyCluster, random.Random, subprocess.Popen[str]], Callable[[], None]]
"""A function that begins a fault, and returns the function that ends it."""


def _lose(choose: Callable[[FaultyCluster, random.Random], int], how: str) -> Fault:
    def begin(cluster: FaultyCluster, chance: random.Random, _: subprocess.Popen[str]) -> Callable[[], None]:
        broker = choose(cluster, chance)
        if how == "freeze":
            pid = cluster.pid_of(broker)
            os.kill(pid, signal.SIGSTOP)
            return lambda: cluster.repair([pid])
        (cluster.sandbox.kill if how == "kill" else cluster.sandbox.stop)(broker)
        return cluster.repair

    return begin


def _freeze_any(cluster: FaultyCluster, chance: random.Random, _: subprocess.Popen[str]) -> Callable[[], None]:
    pid = cluster.pid_of(chance.choice(BROKERS))
    os.kill(pid, signal.SIGSTOP)
    return lambda: cluster.repair([pid])


def _any_other(cluster: FaultyCluster, chance: random.Random) -> int:
    controller = cluster.controller()
    return chance.choice([broker for broker in BROKERS if broker != controller])


def _lose_all(cluster: FaultyCluster, _: random.Random, __: subprocess.Popen[str]) -> Callable[[], None]:
    for broker in BROKERS:
        cluster.sandbox.kill(broker)
    return cluster.repair


def _slow(cluster: FaultyCluster, _: random.Random, __: subprocess.Popen[str]) -> Callable[[], None]:
    cluster.proxy.latency_s = 0.1  # in each direction
    return cluster.proxy.heal


def _cuts(cluster: FaultyCluster, chance: random.Random, process: subprocess.Popen[str]) -> Callable[[], None]:
    healed = threading.Event()

    def cut() -> None:
        while not healed.wait(chance.uniform(1.0, 4.0)) and process.poll() is None:
            cluster.proxy.cut()

    cutting = threading.Thread(target=cut, daemon=True)
    cutting.start()

    def heal() -> None:
        healed.set()
        cutting.join()
        cluster.proxy.heal()

    return heal


def _silence(cluster: FaultyCluster, _: random.Random, __: subprocess.Popen[str]) -> Callable[[], None]:
    cluster.proxy.silent = True
    return cluster.proxy.heal


def _fill_disk(cluster: FaultyCluster, _: random.Random, __: subprocess.Popen[str]) -> Callable[[], None]:
    filler = cluster.disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4_096))
    return filler.unlink


def _kill(whole: bool) -> Fault:
    def begin(_: FaultyCluster, __: random.Random, process: subprocess.Popen[str]) -> Callable[[], None]:
        for pid in (process.pid, *(_descendants(process.pid) if whole else ())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return lambda: None

    return begin


FROZEN: Final = "any broker: freeze until the end"
FAULTS: Mapping[str, Fault] = {
    "all brokers: kill": _lose_all,
    **{
        f"the controller: {how}": _lose(lambda cluster, _: cluster.controller(), how)
        for how in ("freeze", "kill", "stop")
    },
    **{f"a broker: {how}": _lose(_any_other, how) for how in ("freeze", "kill", "stop")},
    "disk: full": _fill_disk,
    "network: 200 ms": _slow,
    "network: cuts": _cuts,
    "network: silent": _silence,
    FROZEN: _freeze_any,
    "kill -9 of Python": _kill(False),
    "kill -9 of everything": _kill(True),
}
_RETRY_S = 6.0
"""Longer than files of Pulumi's backend count as those of a running Pulumi, in seconds."""
_MISSES = 5
"""How often a command may end before its fault begins."""
_FROM_THE_START = frozenset({"network: 200 ms", "network: cuts"})
_UNTIL_THE_END = frozenset({"network: 200 ms", "network: cuts", "network: silent", FROZEN})


def run_round(
    cluster: FaultyCluster,
    work: Work,
    fault: str,
    command: str,
    chance: random.Random,
    *,
    after_s: float,
    connected: bool = False,
) -> Round:
    """Start ``command``, begin ``fault`` after ``after_s`` seconds, end it, and run the command again.

    With ``connected``, the seconds begin with the command's first connection to a broker. If the command ends before,
    there is no fault.
    """
    work.prepare()
    result = Round(fault, command, after_s)
    cluster.proxy.connected.clear()
    marker = f"{os.getpid()}-{time.monotonic_ns()}"
    output = cluster.folder / "output"
    with output.open("w") as out, (cluster.folder / "errors").open("w") as err:
        process = subprocess.Popen(
            [BIN / "topicwarden", *work.arguments],
            cwd=work.shell.folder,
            env={**os.environ, **work.shell.variables, _MARKER: marker},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
        )
    began = time.monotonic()
    while connected and process.poll() is None and not cluster.proxy.connected.wait(0.01):
        pass
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
    result.hit = process.poll() is None
    if not result.hit:
        result.code, result.seconds = process.returncode, time.monotonic() - began
        return result
    end = FAULTS[fault](cluster, chance, process)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(LIMIT_S if fault in _UNTIL_THE_END else _HOLDS_S)
    finally:
        end()
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(1.0, LIMIT_S - (time.monotonic() - began)))
    result.code, result.seconds = process.poll(), time.monotonic() - began
    text, errors = output.read_text(), (cluster.folder / "errors").read_text()
    if result.outcome == "ended":
        result.line = " / ".join(f"{text}\n{errors}".strip().splitlines()[-6:])[-900:]
    result.trouble += _disturbed(work, result, text, errors)
    result.trouble += [f"orphan: {line}" for line in _orphans(marker)]
    result.trouble += _repeated(work, command)
    return result


def _disturbed(work: Work, result: Round, text: str, errors: str) -> Iterator[str]:
    if result.code is None:
        yield f"still running after {LIMIT_S:.0f} s"
    for bug in _BUGS:
        if bug in text + errors:
            yield f"{bug!r} in the output: {errors[-600:]}"
    if result.code in work.codes:
        yield from work.wrong(text)
    elif result.code == 2 and len([line for line in errors.splitlines() if line.startswith("topicwarden:")]) > 1:
        yield f"more than one line: {errors[-600:]}"
    if result.fault == "network: 200 ms" and result.code not in work.codes:
        yield f"exit code {result.code}: {result.line}"


def _repeated(work: Work, command: str) -> Iterator[str]:
    """Run the command undisturbed, at most three times, and yield what is not as it must be then."""
    for _ in range(3):
        done = work.shell.topicwarden(*work.arguments)
        if done.returncode in work.codes:
            break
        time.sleep(_RETRY_S)
    else:
        yield f"the next run of {command} ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}"
        return
    yield from work.unfinished()
    yield from work.litter()


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, children) for each in (child, *_descendants(child))]


def _orphans(marker: str) -> list[str]:
    """Return the command lines of the round's processes that still run after 30 seconds, and kill them."""
    deadline = time.monotonic() + 30
    while found := list(_marked(marker)):
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    for pid, _ in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [command[:200] for _, command in found]


def _marked(marker: str) -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{_MARKER}={marker}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if command:
                    yield int(folder.name), command


def campaign(
    cluster: FaultyCluster, prepared: Mapping[str, Work], faults: list[str], rounds: int, seed: int
) -> list[Round]:
    """Run each command until each fault has hit it ``rounds`` times."""
    undisturbed = {command: _undisturbed_s(work) for command, work in prepared.items()}
    results = []
    for number in range(rounds):
        for fault in faults:
            for command, work in prepared.items():
                chance = random.Random(f"{seed}/{number}/{fault}/{command}")
                undisturbed_s = undisturbed[command]
                for _ in range(_MISSES):
                    after_s = 0.0 if fault in _FROM_THE_START else chance.uniform(0.1, 0.9) * undisturbed_s
                    result = run_round(cluster, work, fault, command, chance, after_s=after_s)
                    print(result, file=sys.stderr, flush=True)
                    if result.hit:
                        results.append(result)
                        break
                    undisturbed_s = result.seconds
                else:
                    raise AssertionError(f"{command} ended before {fault} began, {_MISSES} times")
    return results


def freeze_while_connecting(
    cluster: FaultyCluster, prepared: Mapping[str, Work], tenths: int, seed: int
) -> list[Round]:
    """Freeze a broker at each tenth of a second after the first connection of each command, until the command ends."""
    results = []
    for tenth in range(tenths):
        for command, work in prepared.items():
            chance = random.Random(f"{seed}/{tenth}/{FROZEN}/{command}")
            result = run_round(cluster, work, FROZEN, command, chance, after_s=tenth / 10, connected=True)
            print(result, file=sys.stderr, flush=True)
            if result.hit:
                results.append(result)
    return results


def _undisturbed_s(work: Work) -> float:
    """Run the command without a fault, and return how long it takes, in seconds."""
    work.prepare()
    began = time.monotonic()
    work.shell.topicwarden(*work.arguments)
    return time.monotonic() - began


def table(results: list[Round]) -> str:
    """Return a Markdown table fault × command: how many runs succeeded, ended with a line, or were killed."""
    commands = list(dict.fromkeys(result.command for result in results))
    lines = [f"| fault | {' | '.join(commands)} |", "|---|" + "---|" * len(commands)]
    for fault in dict.fromkeys(result.fault for result in results):
        cells = []
        for command in commands:
            cell = [result for result in results if (result.fault, result.command) == (fault, command)]
            counts = {kind: sum(each.outcome == kind for each in cell) for kind in ("succeeded", "ended", "killed")}
            message = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
            bad = sum(bool(each.trouble) for each in cell)
            longest = max(each.seconds for each in cell)
            cells.append(f"{message}; {longest:.0f} s" + (f"; **{bad} bad**" if bad else ""))
        lines.append(f"| {fault} | {' | '.join(cells)} |")
    return "\n".join(lines)
