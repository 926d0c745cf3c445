"""Test healthy logs that earlier versions of the checks reported; a real broker refuted those versions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.repeated_audits import DELETE, MINUTE, TWO_LOOKS, Log, one_key, seen_empty
from tests.support.subjects import HORIZON, NOW, subject
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.horizon import CHECK_INTERVAL
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.contents import Contents, KeyContents
from topicwarden.model.verdict import Verdict

START_DELAY = "log.initial.task.delay.ms"


def test_a_broker_that_was_down_between_two_audits_had_no_time_to_clean() -> None:
    log = one_key()
    log.look()
    log.epoch = 9
    first, second = log.look(after=MINUTE), log.look(after=MINUTE)
    for check in TWO_LOOKS:
        assert (first[check].verdict, second[check].verdict) == (Verdict.SUSPECT, Verdict.FAIL), check


def test_a_broker_that_was_down_between_two_audits_had_no_time_to_delete_or_to_end_a_transaction() -> None:
    log = seen_empty(Log({}, DELETE, counts=PartitionCounts(records=100), stable=40))
    log.look()
    log.epoch = 9
    results = log.look(after=20 * MINUTE)
    assert results["retention-size"].verdict is Verdict.SUSPECT
    assert "hung-transaction" not in results


@pytest.mark.parametrize(("delay", "verdict"), [("30000", Verdict.SUSPECT), ("1000", Verdict.FAIL)])
def test_a_broker_that_has_just_started_waits_before_it_deletes(delay: str, verdict: Verdict) -> None:
    """Both audits are within the first 30 s, when ``LogManager`` has not yet started to look for expired segments."""
    log = seen_empty(Log({}, DELETE, counts=PartitionCounts(records=100)))
    log.brokers = {CHECK_INTERVAL: "1000", START_DELAY: delay}
    log.look()
    assert log.look(after=15_000)["retention-size"].verdict is verdict


@pytest.mark.parametrize(("end", "verdict"), [(100, Verdict.FAIL), (1_100, Verdict.PASS)])
def test_markers_of_transactions_are_clean_and_outlive_their_records(end: int, verdict: Verdict) -> None:
    """A thousand offsets without a record may be a thousand markers of 78 bytes each: nearly all of this log."""
    log = one_key()
    log.counts = replace(log.counts, payload_bytes=9_000, cleanable_bytes=9_000, clean_bytes_at_most=90)
    log.end = end
    log.look()
    assert log.look(after=MINUTE)["compaction-ratio"].verdict is verdict


@pytest.mark.parametrize(("hours", "verdict"), [(1, Verdict.PASS), (3, Verdict.FAIL)])
def test_records_hidden_by_delete_records_keep_their_segment(hours: int, verdict: Verdict) -> None:
    """The first segment is as young as its youngest record, and this record may be below the log start offset."""
    expired = PartitionCounts(records=60, expired=60, first_timestamp=NOW - 100 * MINUTE)
    hour = {"cleanup.policy": "delete", "message.timestamp.after.max.ms": str(60 * MINUTE)}
    gone = replace(HORIZON, start=40, overdue=100)
    log = Log({}, hour, counts=expired, start=40, end=40, horizon=gone)
    log.look()
    log.end = 100
    log.horizon = replace(gone, expired_time=log.now + hours * 60 * MINUTE - 2 * MINUTE)
    assert log.look(after=hours * 60 * MINUTE)["retention-time"].verdict is verdict


def test_zero_bytes_is_a_valid_bound() -> None:
    log = seen_empty(Log({}, DELETE | {"retention.bytes": "0"}, counts=PartitionCounts(records=100)))
    assert log.look()["retention-size"].verdict is Verdict.SUSPECT


@pytest.mark.parametrize(("check", "counts"), [
    ("null-key", PartitionCounts(records=3, null_keys=3)),
    ("empty-value", PartitionCounts(records=3, empty_values=3)),
])  # fmt: skip
def test_aborted_records_do_not_count(check: str, counts: PartitionCounts) -> None:
    of = subject(counts, live={"cleanup.policy": "compact"})
    assert list(CHECKS[check].judge(replace(of, committed={}))) == []
    (judgement,) = CHECKS[check].judge(replace(of, committed={0: replace(counts, at_most=True)}))
    assert judgement.verdict is Verdict.UNDECIDABLE, "of none is it known that it is committed"
    assert judgement.message.startswith("at most 3 records")


def test_a_topic_whose_keys_were_not_counted_does_not_pass() -> None:
    assert not CHECKS["key-in-several-partitions"].applies(
        subject(PartitionCounts(), contents=Contents(key=KeyContents(required=True)))
    )
