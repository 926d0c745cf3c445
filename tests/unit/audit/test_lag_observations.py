"""Test that the log ends which audits remember prove the age of unread records, at any interval of audits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects import NOW
from tests.unit.checks.lag_in_time import CHECK, HOUR, LIMITED, behind, created
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.compare_audits import topic_state
from topicwarden.audit.history.topic_state import PreviousAudit, TopicState
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.group_lags import UnreadRecord
from topicwarden.model.access import Grant
from topicwarden.model.verdict import Verdict

MINUTE = 60_000


def audits(
    interval: int, count: int, behind_by: int, *consume: Grant, epoch: int = 7, dated: int = 0
) -> list[tuple[Verdict | None, TopicState]]:
    """Return verdict and state of ``count`` audits, ``interval`` ms apart, of a log with one record a minute.

    The group is always ``behind_by`` records behind. The producer sets the times of records ``dated`` ms early.
    """
    found: list[tuple[Verdict | None, TopicState]] = []
    past = PreviousAudit()
    for number in range(count):
        now = NOW + number * interval
        end = 1_000 + number * interval // MINUTE
        record = UnreadRecord(end - behind_by, now - behind_by * MINUTE - dated, False, epoch)
        subject = behind(record, *(consume or (LIMITED,)), groups={"g": end - behind_by}, end=end, past=past)
        subject = replace(subject, snapshot=replace(subject.snapshot, taken_at=now))
        results = results_of(CHECKS[CHECK], subject) or ()
        state = topic_state(subject, {CHECK: results}, (), {})
        assert state
        found.append((next((each.verdict for each in results if each.message), None), state))
        past = PreviousAudit(state)
    return found


@pytest.mark.parametrize("interval", [MINUTE, 10 * MINUTE, 59 * MINUTE, 3 * HOUR])
def test_a_group_that_is_late_for_long_is_proven_to_be_late_and_stays_so(interval: int) -> None:
    verdicts = [verdict for verdict, _ in audits(interval, 300, 6 * 60 + 1)]
    assert verdicts[0] is Verdict.SUSPECT, "one audit proves nothing about the producer's clock"
    proven = verdicts.index(Verdict.FAIL)
    assert (proven - 1) * interval <= HOUR + 5_000 < proven * interval or proven == 1
    assert set(verdicts[:proven]) == {Verdict.SUSPECT}
    assert set(verdicts[proven:]) == {Verdict.FAIL}


@pytest.mark.parametrize("interval", [MINUTE, 10 * MINUTE, 59 * MINUTE, 3 * HOUR])
def test_a_group_within_its_limit_is_never_reported(interval: int) -> None:
    assert {verdict for verdict, _ in audits(interval, 100, 59)} == {None}


def test_back_dated_records_are_suspect_only_until_an_audit_has_seen_them_arrive() -> None:
    """The records are half an hour old, and their timestamps say five hours."""
    verdicts = [verdict for verdict, _ in audits(10 * MINUTE, 30, 30, dated=270 * MINUTE)]
    assert verdicts[:3] == [Verdict.SUSPECT] * 3
    assert set(verdicts[3:]) == {None}


def test_records_of_a_later_leader_are_never_proven_by_audits_before_it() -> None:
    assert {verdict for verdict, _ in audits(10 * MINUTE, 30, 6 * 60, epoch=8)} == {Verdict.SUSPECT}


def test_few_observations_are_remembered_for_each_limit() -> None:
    grants = [Grant("User:g", name=f"g{number}", max_lag=HOUR * number) for number in range(1, 6)]
    sizes = [
        len(facts.facts) // 3
        for _, state in audits(MINUTE, 700, 5, *grants)
        if (facts := state.open_finding(CHECK, 0)) is not None
    ]
    assert max(sizes) <= 6 * len(grants)
    assert len(sizes) == 700


def test_a_partition_without_a_known_leader_remembers_nothing() -> None:
    subject = behind(created(0), LIMITED)
    assert subject.live
    (state,) = subject.live.replicas
    live = replace(subject.live, replicas=(replace(state, leader_epoch=None),))
    (result,) = results_of(CHECKS[CHECK], replace(subject, live=live)) or ()
    assert result.tracked_facts == {}
