"""Test the loop of a watch with a clock of its own: intervals, back-off, broken declarations, and observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.support.reports import empty, rich
from tests.support.stopped_clock import Clock
from topicwarden.extensions.watch.audit_loop import AuditLoop, Schedule, WatchState, run_in_turn
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal

EVERY = 60.0
UNREACHABLE = Refusal("the cluster does not respond")


@dataclass
class Lines:
    """The lines of a loop; those that warn are also in ``warnings``."""

    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.lines.append(line)
        self.warnings.append(line)


@dataclass
class Run:
    """A loop that ran for some time; ``starts`` has the time of each audit, and ``states`` every published state."""

    starts: list[float] = field(default_factory=list)
    states: list[WatchState] = field(default_factory=list)
    listener: Lines = field(default_factory=Lines)


def run(
    seconds: float,
    outcomes: Sequence[AuditReport | Exception],
    *,
    took: float = 1.0,
    declarations: Callable[[], str | None] = lambda: None,
    observers: Sequence[Callable[[AuditReport], None]] = (),
) -> Run:
    """Run a loop whose audits have ``outcomes``, the last one again and again, and take ``took`` seconds each."""
    clock, done = Clock(seconds), Run()

    def audit() -> AuditReport:
        done.starts.append(clock.now)
        clock.now += took
        outcome = outcomes[min(len(done.starts), len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    loop = AuditLoop(
        WatchState("dev", EVERY),
        Schedule(EVERY),
        declarations,
        audit,
        publish=done.states.append,
        listener=done.listener,
        observers=observers,
        clock=clock,
        monotonic=clock,
    )
    run_in_turn([loop], clock, clock)
    return done


def test_the_interval_counts_from_the_start_of_an_audit() -> None:
    assert run(200, [empty()], took=20).starts == [0, 60, 120, 180]


def test_audits_that_take_longer_than_the_interval_neither_overlap_nor_follow_without_a_pause() -> None:
    assert run(400, [empty()], took=100).starts == [0, 106, 212, 318]


def test_a_failed_audit_is_repeated_sooner_and_then_more_and_more_rarely() -> None:
    done = run(400, [UNREACHABLE], took=0)
    assert done.starts == [0, 5, 15, 35, 75, 135, 195, 255, 315, 375]
    assert done.states[-1].failed_audits == len(done.starts)
    assert done.states[-1].last_success is None
    assert done.states[-1].report is None


def test_a_thousand_failures_do_not_end_the_loop() -> None:
    assert len(run(1_000 * EVERY, [UNREACHABLE], took=0).starts) > 1_000


def test_the_last_good_report_stays_while_audits_fail_and_failures_end_with_a_success() -> None:
    good, better = rich(), empty()
    done = run(140, [good, UNREACHABLE, ValueError("bytes of a record"), better])
    failing = [state for state in done.states if state.failed_audits == 2]
    assert failing
    assert all(state.report is good and state.last_success == 1 for state in failing)
    assert done.states[-1].report is better
    assert (done.states[-1].failed_audits, done.states[-1].failure) == (0, None)
    shown = "\n".join(done.listener.lines + [line for state in done.states for line in state.lines()])
    assert "the cluster does not respond" in shown
    assert "ValueError" in shown
    assert "bytes of a record" not in shown


def test_each_audit_prints_one_line() -> None:
    done = run(200, [empty(), UNREACHABLE, empty()])
    assert len(done.listener.lines) == len(done.starts)
    assert [("the cluster does not respond; next audit in 5 s" in line) for line in done.listener.lines[:2]] == [
        False,
        True,
    ]


def test_broken_declarations_are_visible_once_in_the_log_and_always_in_the_state() -> None:
    problems = iter([None, "topics/a.yaml:1:1: broken", "topics/a.yaml:1:1: broken", None, None])
    done = run(4 * EVERY, [rich()], declarations=lambda: next(problems))
    assert len(done.starts) == 4
    assert sum("topics/a.yaml:1:1" in line for line in done.listener.warnings) == 1
    assert sum("valid again" in line for line in done.listener.lines) == 1
    broken = [state for state in done.states if state.declarations_problem]
    assert all(state.declarations_valid is False and state.report for state in broken)
    assert any("topics/a.yaml:1:1: broken" in line for line in broken[-1].lines())
    assert "topics/a.yaml" not in next(broken[-1].lines())


def test_an_unexpected_error_of_the_declarations_counts_as_broken() -> None:
    def vanished() -> str | None:
        raise FileNotFoundError("topics")

    done = run(EVERY, [rich()], declarations=vanished)
    assert done.states[-1].declarations_valid is False
    assert done.states[-1].report is not None


def test_observers_receive_each_report_whatever_the_others_do() -> None:
    received: list[AuditReport] = []

    def broken(_: AuditReport) -> None:
        raise OSError("the receiver is down")

    good = rich()
    done = run(2 * EVERY, [good, UNREACHABLE, good], observers=[broken, received.append])
    assert received == [good] * (len(done.starts) - 1)
    assert sum("a receiver of reports failed" in line for line in done.listener.warnings) == len(received)


def test_nothing_is_audited_after_the_end_was_requested() -> None:
    assert run(0, [empty()]).starts == []


@pytest.mark.parametrize("number", [1, 2, 50, 10_000])
def test_the_pause_is_never_longer_than_the_interval_and_never_nothing(number: int) -> None:
    assert 0 < Schedule(EVERY).pause(1.0, number) <= EVERY
    assert Schedule(1.0).pause(50.0, 0) == pytest.approx(0.1)


def test_the_text_of_an_unexpected_error_is_for_the_log_only() -> None:
    clock, listener, states = Clock(3), Lines(), list[WatchState]()

    def fails() -> AuditReport:
        raise ValueError("bytes of a record")

    loop = AuditLoop(
        WatchState("dev", EVERY), Schedule(EVERY), lambda: None, fails, states.append, listener,
        details_of=lambda error: f"details: {error}", clock=clock, monotonic=clock,
    )  # fmt: skip
    run_in_turn([loop], clock, clock)
    assert any("details: bytes of a record" in line for line in listener.warnings)
    assert "bytes of a record" not in "".join(line for state in states for line in state.lines())
