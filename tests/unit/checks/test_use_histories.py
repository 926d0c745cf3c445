"""Test that no legitimate history of use is reported as undeclared or idle, and that planted users are found."""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.unit.checks.use_histories import (
    CONSUMERS,
    MINUTE,
    PRODUCERS,
    SECOND,
    Client,
    History,
    legitimate,
    step,
)
from topicwarden.audit.check import CheckResult
from topicwarden.model.usage import DAY_MS
from topicwarden.model.verdict import Verdict

SEED = int(os.environ.get("TOPICWARDEN_SEED", "20261124"))
HISTORIES = int(os.environ.get("TOPICWARDEN_HISTORIES", "300"))
IDLE_MS = 20 * DAY_MS


def denied(history: History, check: str, result: CheckResult) -> str:
    """Return why a ``fail`` is false; empty if it is true."""
    if result.verdict is not Verdict.FAIL:
        return ""
    if check == "idle-topic":
        # The clock of one audit may be a day slow.
        return "somebody has written" if history.now - history.written_at < IDLE_MS - DAY_MS else ""
    return "" if result.evidence["user"] in history.undeclared else "it was declared whenever it used the topic"


def test_no_legitimate_history_has_a_false_fail() -> None:
    fails, audits = 0, 0
    for number in range(HISTORIES):
        history = legitimate(Random(f"{SEED}-{number}"))
        wrong_clock = history.draw.randint(0, 12)  # the clock of one audit may be wrong
        for _ in range(history.draw.randint(6, 16)):
            step(history)
            if history.draw.random() < 0.45:
                jump = history.draw.choice((40 * DAY_MS, -DAY_MS)) if wrong_clock == 0 else 0
                wrong_clock -= 1
                audits += 1
                for check, result in history.judge(jump):
                    assert denied(history, check, result) == "", (number, check, result)
                    fails += result.verdict is Verdict.FAIL
    assert fails > HISTORIES / 50, "the histories have undeclared uses between a change and its deploy"
    assert audits > HISTORIES


@pytest.mark.parametrize("secured", [True, False], ids=["authorizer", "no authorizer"])
@pytest.mark.parametrize("kind", [*CONSUMERS, *PRODUCERS])
def test_a_planted_user_is_found(kind: str, *, secured: bool) -> None:
    for number in range(10):
        history = legitimate(Random(f"{SEED}-{kind}-{secured}-{number}"))
        history.secured, history.visible = secured, 1.0
        if kind in PRODUCERS:  # any declared writer explains a number, and one without an id each id
            explaining = PRODUCERS if kind == "idempotent" else ("idempotent",)
            history.declared = {each for each in history.declared if each.kind not in explaining}
        history.deploy()
        list(history.judge())
        rogue = Client(kind, f"rogue-{number}", "User:rogue-1", "none")
        history.clients.append(rogue)
        history.by_hand.add(rogue)
        found = []
        for _ in range(4):
            history.wait(history.draw.choice((10 * SECOND, 20 * MINUTE, DAY_MS)))
            for partition in history.ends:
                history.ends[partition] += 20
            if kind in CONSUMERS:
                rogue.joined = kind != "manual"
                rogue.heartbeat = history.now
                history.committed[rogue.name] = dict(history.ends)
            else:
                rogue.begun = history.now if kind == "transactional" else None
                history.write(rogue)
            found += [
                result.verdict
                for check, result in history.judge()
                if check.startswith("undeclared") and result.evidence.get("user") == rogue.user
            ]
        expected = {Verdict.FAIL}
        if not secured and history.scope.principals:
            expected = {Verdict.UNDECIDABLE}  # without an authorizer, it may be a principal of another stack
        assert set(found) & expected, (number, found)
