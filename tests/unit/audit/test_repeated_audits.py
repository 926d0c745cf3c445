"""Test what repeated audits of one log prove, and what they must not conclude; the logs are built by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.repeated_audits import COMPACT, DEAD, DELETE, MINUTE, ROLLED, TWO_LOOKS, Log, one_key, seen_empty
from tests.support.subjects import HORIZON, NOW, counted, subject
from tests.unit.checks.cases import extent, with_logs
from topicwarden.audit import compare_audits
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.persistence import first_segment_rolled
from topicwarden.audit.collect.horizon import CHECK_INTERVAL
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.topic_state import PreviousAudit, RememberedRecord
from topicwarden.audit.judge import judge
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.contents import Contents, KeyContents
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.model.verdict import Verdict

# What repeated audits of one log prove, and what they must not conclude; the logs are built by hand.


def test_a_superseded_pair_that_persists_longer_than_a_cleaning_is_proof() -> None:
    log = one_key()
    first, second = log.look(), log.look(after=MINUTE)
    for check in TWO_LOOKS:
        assert (first[check].verdict, second[check].verdict) == (Verdict.SUSPECT, Verdict.FAIL), check
    assert {(one.check, one.was, one.now) for one in log.settled} == {
        (check, Verdict.SUSPECT, Verdict.FAIL) for check in TWO_LOOKS
    }
    assert {one.verdict for one in log.look(after=MINUTE).values()} == {Verdict.FAIL}


def verdicts_of(judged: Mapping[str, CheckResult]) -> dict[str, Verdict]:
    return {check: judged[check].verdict for check in TWO_LOOKS}


def both(verdict: Verdict) -> dict[str, Verdict]:
    return dict.fromkeys(TWO_LOOKS, verdict)


def test_the_cleaner_gets_more_time_for_a_log_of_100_gigabytes() -> None:
    log = one_key()
    log.size = 100 << 30
    log.look()
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.SUSPECT)
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.FAIL)


LIMIT = "log.cleaner.io.max.bytes.per.second"


def test_a_limited_cleaner_gets_the_time_that_its_limit_takes() -> None:
    """At 1 MiB/s, reading 100 GiB twice and writing them takes 85.3 hours."""
    log = one_key()
    log.size, log.brokers = 100 << 30, {LIMIT: "1048576.0"}
    log.look()
    assert verdicts_of(log.look(after=85 * 60 * MINUTE)) == both(Verdict.SUSPECT)
    assert verdicts_of(log.look(after=60 * MINUTE)) == both(Verdict.FAIL)


def test_a_cleaner_is_not_limited_by_default() -> None:
    log = one_key()
    log.size, log.brokers = 100 << 30, {LIMIT: "1.7976931348623157E308"}
    log.look()
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.FAIL)


@pytest.mark.parametrize("limit", ["1048576.0", "0.0", "-1.0"])
def test_a_lifted_limit_says_nothing_about_the_time_before(limit: str) -> None:
    log = one_key()
    log.size, log.brokers = 100 << 30, {LIMIT: limit}
    log.look()
    log.brokers = {}
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.SUSPECT)
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.FAIL)


def test_a_log_that_moves_between_disks_is_not_cleaned() -> None:
    log = one_key()
    log.look()
    log.moves = True
    moving = log.look(after=600 * MINUTE)
    assert verdicts_of(moving) == both(Verdict.PASS)
    assert all(any("to another disk" in reason for reason in moving[check].because) for check in TWO_LOOKS)
    log.moves = False
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.SUSPECT)
    assert verdicts_of(log.look(after=600 * MINUTE)) == both(Verdict.FAIL)


def test_a_log_that_moves_between_disks_is_not_shortened() -> None:
    log = seen_empty(Log({}, DELETE, counts=PartitionCounts(), size=2 << 31))
    log.look()
    log.moves = True
    moving = log.look(after=600 * MINUTE)["retention-size"]
    assert (moving.verdict, "to another disk" in moving.because[-1]) == (Verdict.PASS, True)
    log.moves = False
    assert log.look(after=600 * MINUTE)["retention-size"].verdict is Verdict.SUSPECT
    assert log.look(after=600 * MINUTE)["retention-size"].verdict is Verdict.FAIL


def test_without_the_sizes_of_the_logs_nothing_is_suspected() -> None:
    log = one_key()
    log.size = None
    assert verdicts_of(log.look()) == both(Verdict.UNDECIDABLE)
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.UNDECIDABLE)


def test_an_idle_log_without_segment_evidence_is_decided_by_the_next_audit() -> None:
    log = one_key()
    log.last = None  # no audit saw the settings under which these segments were written
    assert verdicts_of(log.look()) == both(Verdict.SUSPECT)
    second = log.look(after=MINUTE)
    assert verdicts_of(second) == both(Verdict.PASS)
    assert {(one.check, one.now) for one in log.settled} == {(check, Verdict.PASS) for check in TWO_LOOKS}
    assert all("the segment may be active" in one.why for one in log.settled)
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.PASS)
    log.end += 1
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.FAIL)


def test_two_audits_in_quick_succession_prove_nothing() -> None:
    log = one_key()
    log.look()
    assert verdicts_of(log.look(after=1_000)) == both(Verdict.SUSPECT)


def test_a_changed_setting_restarts_the_persistence() -> None:
    log = one_key()
    log.look()
    log.settings = {**DEAD, "min.compaction.lag.ms": "1"}
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.SUSPECT)


def test_a_lowered_segment_ms_proves_nothing_about_segments_that_were_written_before() -> None:
    """The first audit that sees the new value has no record that was written under it."""
    log = one_key()
    log.look()
    log.settings = {**DEAD, "segment.ms": "900", "max.compaction.lag.ms": "900"}
    for _ in range(2):
        found = log.look(after=MINUTE)
        assert verdicts_of(found) == both(Verdict.PASS)
        assert "the segment may be active" in found["compaction-ratio"].because[-1]
        assert "have rolled if segment.ms was not longer when they were written" in found["compaction-ratio"].because[0]
    log.end += 1
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.FAIL)


def test_a_suspect_whose_records_are_gone_is_settled_despite_new_ones() -> None:
    log = one_key()
    log.look()
    log.records = dict.fromkeys(range(50, 100), 5)
    log.start = 50
    assert verdicts_of(log.look(after=MINUTE)) == both(Verdict.SUSPECT)
    assert {(one.check, one.now) for one in log.settled} == {(check, Verdict.PASS) for check in TWO_LOOKS}
    assert all("the log now starts at offset 50" in one.why for one in log.settled)


def test_a_cleaned_topic_passes_and_the_finding_is_settled() -> None:
    log = one_key()
    log.look()
    log.records, log.counts, log.horizon = {99: 5}, PartitionCounts(records=1, keys=1), ROLLED
    assert log.look(after=MINUTE) == {}
    assert {(one.check, one.now) for one in log.settled} == {(check, Verdict.PASS) for check in TWO_LOOKS}
    assert all("offsets 0 and 1 was cleaned" in one.why for one in log.settled)


def gap(log: Log) -> CheckResult | None:
    log.look()
    for offset in range(2, 50):
        del log.records[offset]
    return log.look(after=1).get("compaction-gap")


def test_a_superseded_pair_that_survives_a_cleaning_is_proof() -> None:
    found = gap(Log({offset: offset // 2 for offset in range(100)}, COMPACT, counts=PartitionCounts(records=100)))
    assert found
    assert found.verdict is Verdict.FAIL
    assert (found.evidence["offset"], found.evidence["superseded_by"]) == (0, 1)


@pytest.mark.parametrize("epoch", [None, 8])
def test_a_new_leader_has_its_own_cleaner_checkpoint(epoch: int | None) -> None:
    log = Log({offset: offset // 2 for offset in range(100)}, COMPACT, counts=PartitionCounts(records=100))
    log.look()
    log.epoch = epoch
    for offset in range(2, 50):
        del log.records[offset]
    assert "compaction-gap" not in log.look()


def test_truncated_records_are_a_finding_and_no_gap() -> None:
    log = Log({offset: offset // 2 for offset in range(100)}, COMPACT, counts=PartitionCounts(records=100))
    log.look()
    log.end = 10
    log.records = {offset: key for offset, key in log.records.items() if offset < 10}
    results = log.look()
    assert "compaction-gap" not in results
    assert results["log-truncated"].evidence == {"end": 10, "end_before": 100}


def test_a_recreated_topic_has_no_previous_audit() -> None:
    log = one_key()
    log.look()
    log.topic_id, log.end = "other", 10
    results = log.look(after=MINUTE)
    assert results["topic-recreated"].verdict is Verdict.FAIL
    assert {results[check].verdict for check in TWO_LOOKS} == {Verdict.SUSPECT}
    assert "log-truncated" not in results
    assert log.settled == []


def test_recreating_a_topic_can_be_allowed() -> None:
    of = subject(PartitionCounts())
    assert of.declared
    allowances = frozenset({Allowance(AllowedChange.RECREATE)})
    allowed = replace(of, declared=replace(of.declared, allow=allowances), past=PreviousAudit(None, "old"))
    assert [one.verdict for one in judge(allowed)["topic-recreated"]] == [Verdict.PASS]


def test_a_deleted_key_that_is_back_below_its_tombstone_is_resurrected() -> None:
    log = Log({1: 5, 50: 5}, COMPACT, counts=PartitionCounts(records=2), deleted=((5, 50),))
    log.look()
    log.deleted, log.resurrected = (), ((5, 1),)
    found = log.look()["resurrection"]
    assert found.verdict is Verdict.FAIL
    assert (found.evidence["tombstone_offset"], found.evidence["found_offset"]) == (50, 1)
    log.resurrected = ((6, 1),)  # a key without a remembered tombstone
    assert "resurrection" not in log.look()


def test_a_tombstone_that_outlives_a_cleaning_after_its_retention_is_proof() -> None:
    log = Log({3: 9, 10: 1, 11: 1, 12: 2, 13: 2}, COMPACT, counts=PartitionCounts(records=5), deleted=((9, 3),))
    assert log.look() == {}
    log.records = {3: 9, 11: 1, 13: 2, 14: 4, 15: 4}  # a cleaning removed offsets 10 and 12
    assert log.look(after=MINUTE) == {}
    assert log.look(after=20 * MINUTE) == {}  # delete.retention.ms has passed, but there was no cleaning since
    log.records |= {100: 6, 101: 6, 102: 7, 103: 7}
    log.end = 104
    assert log.look(after=MINUTE) == {}
    log.records = {3: 9, 11: 1, 13: 2, 15: 4, 101: 6, 103: 7}
    found = log.look(after=MINUTE)["tombstone-retention"]
    assert found.verdict is Verdict.FAIL
    assert found.evidence["offset"] == 3


def test_a_log_larger_than_its_bound_is_suspect_then_proof_while_its_start_stays() -> None:
    log = seen_empty(Log({}, DELETE, counts=PartitionCounts(records=100)))
    assert log.look()["retention-size"].verdict is Verdict.SUSPECT
    assert log.look(after=10 * MINUTE)["retention-size"].verdict is Verdict.FAIL
    log.start = 50
    assert log.look(after=10 * MINUTE)["retention-size"].verdict is Verdict.SUSPECT


def test_segments_of_an_unknown_time_may_be_as_large_as_any() -> None:
    log = Log({}, DELETE, counts=PartitionCounts(records=100))
    assert log.look()["retention-size"].verdict is Verdict.SUSPECT
    second = log.look(after=10 * MINUTE)["retention-size"]
    assert second.verdict is Verdict.PASS
    assert "may be larger than segment.bytes" in second.because[-1]
    log.size = 3 << 30
    assert log.look(after=10 * MINUTE)["retention-size"].verdict is Verdict.FAIL


def test_a_partition_that_had_no_leader_does_not_count_as_new() -> None:
    log = Log({}, DELETE)
    seen = log.subject()
    assert seen.live
    leaderless = replace(seen, live=replace(seen.live, extents={}), counts={}, committed={}, horizons={})
    log.last = compare_audits.topic_state(leaderless, judge(leaderless), [], {})
    looks = [log.look(after=120 * MINUTE) for _ in range(3)]
    assert [look["retention-size"].verdict for look in looks] == [Verdict.SUSPECT, Verdict.PASS, Verdict.PASS]


def test_without_sizes_retention_by_size_is_undecidable_and_says_what_is_missing() -> None:
    found = Log({}, DELETE, counts=PartitionCounts(records=100), size=None).look()["retention-size"]
    assert found.verdict is Verdict.UNDECIDABLE
    assert found.because == ("the leader changed while the sizes were read",)


@pytest.mark.parametrize(
    ("unexpired", "verdict"),
    [(None, Verdict.FAIL), (40, Verdict.PASS), (70, Verdict.FAIL)],
    ids=["all has expired", "the oldest segment may hold more", "all of it that may lie in the oldest segment has"],
)
def test_expired_records_are_proof_if_their_segment_has_expired(unexpired: int | None, verdict: Verdict) -> None:
    """The settings are known from offset 60 on. All records below offset 60 may be in one segment."""
    expired = PartitionCounts(records=100, expired=10, first_timestamp=NOW - 100 * MINUTE)
    log = Log({}, {"cleanup.policy": "delete"}, counts=PartitionCounts(), end=60)
    log.look()
    log = replace(log, counts=expired, end=100, horizon=replace(HORIZON, overdue=10, unexpired=unexpired))
    first = Verdict.PASS if verdict is Verdict.PASS else Verdict.SUSPECT
    assert log.look()["retention-time"].verdict is first
    assert log.look(after=10 * MINUTE)["retention-time"].verdict is verdict


def test_a_transaction_is_hung_only_after_the_maximum_timeout() -> None:
    log = Log({}, {"cleanup.policy": "delete"}, counts=PartitionCounts(), stable=40)
    assert log.look() == {}
    assert log.look(after=15 * MINUTE) == {}  # the longest time that a transaction may take
    assert log.look(after=1_000)["hung-transaction"].verdict is Verdict.SUSPECT
    assert log.look(after=MINUTE)["hung-transaction"].verdict is Verdict.FAIL
    log.stable = 41  # another transaction
    assert log.look(after=20 * MINUTE) == {}
    assert [one.why for one in log.settled] == ["the last stable offset moved to 41"]


class _Unseen(Log):
    """A log whose broker settings are not visible (DescribeConfigs on the Cluster resource is denied)."""

    def subject(self) -> AuditedTopic:
        of = super().subject()
        return replace(of, snapshot=replace(of.snapshot, broker_configs={}))


def test_a_hidden_broker_setting_is_no_proof() -> None:
    """Kafka's defaults may not be in force. Each case is a ``fail`` if the brokers report their settings."""
    hung = _Unseen({}, {"cleanup.policy": "delete"}, counts=PartitionCounts(), stable=40)
    expired = PartitionCounts(records=100, expired=10, first_timestamp=NOW - 100 * MINUTE)
    late = _Unseen({}, {"cleanup.policy": "delete"}, counts=expired, horizon=replace(HORIZON, overdue=10))
    large = _Unseen({}, {"retention.bytes": "1", "segment.bytes": "1"}, counts=PartitionCounts(records=1), size=2**32)
    dirty = seen_empty(_Unseen({0: 1, 5: 1, 9: 2}, DEAD))
    for log, check, verdict in (
        (hung, "hung-transaction", Verdict.UNDECIDABLE),
        (late, "retention-time", Verdict.UNDECIDABLE),
        (large, "retention-size", Verdict.UNDECIDABLE),
        (dirty, "compaction-lag", Verdict.UNDECIDABLE),
    ):
        log.look()
        log.look(after=MINUTE)
        assert log.look(after=24 * 60 * MINUTE)[check].verdict is verdict, check


# Healthy logs that earlier versions of the checks reported; a real broker refuted those versions.

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


# What later audits may conclude from remembered records, also while the cleaner runs.

AT = ("orders", 0)
OTHER = ("orders", 1)
PAIR = RememberedRecord(0, 2, 7, superseded_by=5)
TOMBSTONE = RememberedRecord(0, 6, 8, superseded_by=None)
LATER = RememberedRecord(0, 90, 9, superseded_by=None)

Lookups = Mapping[tuple[str, int], list[tuple[int, int]]]


class CleanerLog:
    """A log that shows one state to each lookup; a stand-in for the reads with Spark."""

    def __init__(self, *offsets: set[int]) -> None:
        self.states = list(offsets)
        self.lookups: list[set[tuple[str, int]]] = []

    def find(self, _spark: Any, _connection: Any, lookups: Lookups) -> set[tuple[tuple[str, int], int, int]]:
        self.lookups.append(set(lookups))
        present = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {(at, offset, key) for at, records in lookups.items() for offset, key in records if offset in present}


def found(monkeypatch: pytest.MonkeyPatch, log: CleanerLog, *records: RememberedRecord) -> frozenset[RememberedRecord]:
    monkeypatch.setattr(remembered_records, "_find", log.find)
    session: Any = None
    return remembered_records.still_present(session, session, {AT: records, OTHER: ()})[AT]


def test_a_pair_read_just_before_the_cleaning_does_not_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup reads the pair, the cleaner removes the pair and a later record, and the lookup misses the latter."""
    log = CleanerLog({2, 5, 6}, {5, 6}, {5, 6})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {TOMBSTONE}
    assert len(log.lookups) == 3


def test_a_superseded_record_that_outlives_its_successor_outlived_the_cleaning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = CleanerLog({2, 5, 6})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {PAIR, TOMBSTONE}
    assert len(log.lookups) == 2


def test_one_lookup_is_enough_if_no_record_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = CleanerLog({2, 5, 6, 90})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {PAIR, TOMBSTONE, LATER}
    assert log.lookups == [{AT}]


PERSISTED_MS = 100_000
AHEAD, LAG = "message.timestamp.after.max.ms", "min.compaction.lag.ms"


@pytest.mark.parametrize(
    ("settings", "start", "latest", "rolled"),
    [
        ({AHEAD: "93999"}, 40, NOW, True),
        pytest.param({AHEAD: "94000"}, 40, NOW, False, id="the log's youngest record is a roll younger, and no more"),
        pytest.param({AHEAD: "94000"}, 0, NOW, True, id="nothing is hidden"),
        ({AHEAD: "50000", LAG: "44999"}, 40, NOW, True),
        pytest.param({AHEAD: "50000", LAG: "45000"}, 40, NOW, False, id="hidden records may be within the lag"),
        pytest.param({}, 40, NOW, False, id="hidden records may be as young as the youngest"),
        pytest.param({AHEAD: "50000"}, 40, None, False, id="the youngest is not told"),
        pytest.param({}, 40, None, False, id="nothing bounds them"),
    ],
)
def test_hidden_records_have_rolled_with_what_was_written_since(
    settings: dict[str, str], start: int, latest: int | None, rolled: bool
) -> None:
    """``segment.ms`` is 1,000. Hidden timestamps are at most ``PERSISTED_MS`` ago plus ``AHEAD`` plus 5,000 ms."""
    of = with_logs(subject(live={"cleanup.policy": "compact", **settings}), extent(start, latest=latest))
    assert first_segment_rolled(counted(of), 0, PERSISTED_MS) == rolled
