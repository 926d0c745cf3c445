"""Test each check on evidence built by hand: what it reports, and what it must not report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.support.subjects import HORIZON, NOW, subject
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.judge import results_of
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, SupersededPair, TimestampTypeCount
from topicwarden.audit.scan.key_placement import KeyPlacement, PlacementStudy
from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    RecordContents,
    TimestampContents,
    ValueContents,
)
from topicwarden.model.message_text import above, counted_are, percent_above
from topicwarden.model.verdict import Verdict

COMPACT = {"cleanup.policy": "compact"}


def judged(check: str, of: AuditedTopic) -> list[CheckResult]:
    return list(results_of(CHECKS[check], of) or ())


def verdicts(judgements: Iterable[CheckResult]) -> list[Verdict]:
    return [judgement.verdict for judgement in judgements]


def test_every_check_documents_its_verdicts() -> None:
    for name, check in CHECKS.items():
        assert "**fail**" in (check.__doc__ or "").lower(), name


def test_a_healthy_topic_passes_every_check() -> None:
    counts = PartitionCounts(records=10, keys=10, first_timestamp=NOW - 5_000, last_timestamp=NOW)
    for live in ({}, COMPACT):
        for name in CHECKS:
            assert judged(name, subject(counts, live=live)) == [], name


def test_drift_names_both_values_and_where_the_live_one_comes_from() -> None:
    of = subject(declared={"retention.ms": "100"}, sources={"retention.ms": "DYNAMIC_TOPIC_CONFIG"})
    (judgement,) = judged("config-drift", of)
    assert judgement.verdict is Verdict.FAIL
    assert judgement.path == ("config", "retention.ms")
    assert "60000 (set on the topic)" in judgement.message
    assert "declared 100" in judgement.message


def test_a_value_spelled_otherwise_is_no_drift() -> None:
    of = subject(
        live={"cleanup.policy": "delete,compact", "min.cleanable.dirty.ratio": "0.50"},
        declared={"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.5"},
    )
    assert judged("config-drift", of) == []


def test_a_setting_added_by_hand_is_drift() -> None:
    (judgement,) = judged("config-drift", subject(sources={"segment.ms": "DYNAMIC_TOPIC_CONFIG"}))
    assert "segment.ms was set on the topic to 1000, and is not declared" in judgement.message


def test_without_describe_configs_no_setting_is_assumed() -> None:
    of = subject(declared={"retention.ms": "100"})
    assert of.live
    blind = replace(of, live=replace(of.live, sources={}))
    assert verdicts(judged("config-drift", blind)) == [Verdict.UNDECIDABLE]


@pytest.mark.parametrize(
    ("in_sync", "under_replicated", "refused"),
    [((1, 2, 3), False, False), ((1, 2), True, False), ((1,), True, True), ((), True, True)],
)
def test_replicas_out_of_sync(in_sync: tuple[int, ...], under_replicated: bool, refused: bool) -> None:
    of = subject(replicas=PartitionReplicas(0, 1 if in_sync else None, (1, 2, 3), in_sync))
    assert bool(judged("under-replicated", of)) == under_replicated
    assert bool(judged("min-insync-replicas", of)) == refused


def test_a_keyless_record_fails_where_it_is_lost_or_forbidden_and_nowhere_else() -> None:
    counts = PartitionCounts(records=3, null_keys=2, first_null_key=7)
    assert judged("null-key", subject(counts)) == []
    (compacted,) = judged("null-key", subject(counts, live=COMPACT))
    assert compacted.message == "2 records without a key in a compacted topic, first at offset 7 of partition 0"
    (required,) = judged("null-key", subject(counts, contents=Contents(key=KeyContents(required=True))))
    assert required.path == ("contents", "key", "required")


def test_an_empty_value_is_no_tombstone() -> None:
    assert judged("empty-value", subject(PartitionCounts(records=2, tombstones=2), live=COMPACT)) == []
    empty = PartitionCounts(records=2, empty_values=1, first_empty_value=0)
    assert verdicts(judged("empty-value", subject(empty, live=COMPACT))) == [Verdict.FAIL]


REPEATED = PartitionCounts(
    records=11, keys=1, superseded=10, superseded_rolled=5, superseded_cleanable=5, cleanable=6,
    payload_bytes=220, cleanable_bytes=120, clean_bytes_at_most=20,
)  # fmt: skip
PAIRS = tuple(SupersededPair(offset, offset + 1) for offset in range(10))


def with_log(of: AuditedTopic, extent: PartitionExtent) -> AuditedTopic:
    assert of.live
    return replace(of, live=replace(of.live, extents={0: extent}))


def test_duplicates_are_suspect_only_where_the_dirty_ratio_is_provably_exceeded() -> None:
    horizon = replace(HORIZON, rolled=6, cleanable=6)
    eager = {**COMPACT, "min.cleanable.dirty.ratio": "0.01"}
    lazy = {**COMPACT, "min.cleanable.dirty.ratio": "0.9"}
    small = PartitionExtent(0, 11, 11, NOW, 10, 1_000)
    (suspect,) = judged("compaction-ratio", with_log(subject(REPEATED, horizon, live=eager, pairs=PAIRS), small))
    (passing,) = judged("compaction-ratio", with_log(subject(REPEATED, horizon, live=lazy, pairs=PAIRS), small))
    assert (suspect.verdict, passing.verdict) == (Verdict.SUSPECT, Verdict.PASS)
    assert passing.because[0].startswith("5 (offsets 5-9): the segment of the superseding record may not have rolled")
    assert passing.because[1].startswith("5 (offsets 0-4): their segments have rolled if segment.ms was not longer")


def test_the_dirty_ratio_counts_bytes_and_not_records() -> None:
    """The log has one cleaned value of 200 kB and then 15 small records: 94% dirty by records, 0.3% by bytes."""
    counts = PartitionCounts(
        records=17, keys=2, superseded=14, superseded_rolled=14, superseded_cleanable=14, cleanable=17,
        payload_bytes=200_160, cleanable_bytes=200_160, clean_bytes_at_most=200_010,
    )  # fmt: skip
    of = subject(counts, replace(HORIZON, rolled=17, cleanable=17), live=COMPACT, pairs=PAIRS)
    (judgement,) = judged("compaction-ratio", with_log(of, PartitionExtent(0, 17, 17, NOW, 16, 201_300)))
    assert judgement.verdict is Verdict.PASS
    assert judgement.evidence["dirty_ratio_at_least"] == pytest.approx(0.0045, abs=0.003)


def test_duplicates_behind_an_open_transaction_are_legitimate() -> None:
    counts = replace(REPEATED, superseded_rolled=10, superseded_cleanable=0, cleanable=1)
    horizon = replace(HORIZON, rolled=11, cleanable=1, blocked_by="an open transaction")
    (judgement,) = judged("compaction-ratio", subject(counts, horizon, live=COMPACT, pairs=PAIRS))
    assert judgement.verdict is Verdict.PASS
    assert judgement.because == ("10 (offsets 0-9): held back by an open transaction",)


def test_overdue_records_are_suspect_in_one_audit() -> None:
    counts = PartitionCounts(records=5, expired=3, first_timestamp=NOW - 10_000_000, last_timestamp=NOW)
    assert verdicts(judged("retention-time", subject(counts, replace(HORIZON, overdue=3)))) == [Verdict.SUSPECT]
    assert judged("retention-time", subject(counts, HORIZON)) == []
    assert judged("retention-time", subject(counts, replace(HORIZON, overdue=3), live={"retention.ms": "-1"})) == []
    assert judged("retention-time", subject(counts, replace(HORIZON, overdue=3), live=COMPACT)) == []


def test_compact_and_delete_is_judged_by_its_youngest_record() -> None:
    both = {"cleanup.policy": "compact,delete"}
    counts = PartitionCounts(records=5, first_timestamp=NOW - 10_000_000, last_timestamp=NOW)
    assert judged("retention-time", subject(counts, replace(HORIZON, overdue=3), live=both)) == []


def test_a_future_timestamp_blocks_only_later_segments() -> None:
    future = replace(HORIZON, unexpired=0, future_offset=0, future_timestamp=NOW + 1_800_000)
    counts = PartitionCounts(records=21, expired=20, expired_behind_future=20)
    (judgement,) = judged("retention-blocked", subject(counts, future))
    assert judgement.verdict is Verdict.FAIL
    assert judgement.evidence["expires_not_before"] == NOW + 1_800_000 + 60_000
    behind_nothing = replace(counts, expired_behind_future=0)
    assert judged("retention-blocked", subject(behind_nothing, future)) == []
    protected_otherwise = replace(future, unexpired=0, future_offset=5)
    assert judged("retention-blocked", subject(counts, protected_otherwise)) == []


FAULT = ContentFault("record-size", "larger than declared", 3, (4, 7, 9))


def test_declared_contents_are_bounds() -> None:
    contents = Contents(
        records=RecordContents(max_bytes=10),
        timestamps=TimestampContents(max_ahead=1_000, max_late=1),
        headers=HeaderContents(required=("a",)),
    )
    for name in ("record-size", "timestamp-future", "timestamp-late", "header"):
        assert judged(name, subject(PartitionCounts(records=9), contents=contents)) == []
        broken = PartitionCounts(records=9, faults=(replace(FAULT, rule=name),))
        (judgement,) = judged(name, subject(broken, contents=contents))
        assert (judgement.verdict, judgement.evidence["records"]) == (Verdict.FAIL, 3)
        assert "first at offset 4 of partition 0" in judgement.message


def test_invisible_or_unprovable_loss_is_no_fail() -> None:
    contents = Contents(value=ValueContents(format="json"))
    fault = replace(FAULT, rule="value-schema")
    for one in replace(fault, at_most=True, unconfirmed=True), replace(fault, undecided=True):
        found = judged("value-schema", subject(PartitionCounts(records=9, faults=(one,)), contents=contents))
        assert verdicts(found) == [Verdict.UNDECIDABLE]


def test_records_with_the_previous_timestamp_type_pass() -> None:
    contents = Contents(timestamps=TimestampContents(type="LogAppendTime"))
    stamped = {"CreateTime": TimestampTypeCount(5, 4), "LogAppendTime": TimestampTypeCount(5, 9)}
    create, append = ({"message.timestamp.type": name} for name in stamped)
    assert (
        judged(
            "timestamp-type",
            subject(PartitionCounts(records=10, timestamp_types=stamped), live=append, contents=contents),
        )
        == []
    )
    old = PartitionCounts(records=5, timestamp_types={"CreateTime": TimestampTypeCount(5, 4)})
    assert judged("timestamp-type", subject(old, live=append, contents=contents)) == []
    assert verdicts(judged("timestamp-type", subject(old, live=create, contents=contents))) == [Verdict.FAIL]


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [(1.305, 1.3, "1.305"), (2.0, 1.5, "2.0"), (1.31, 1.3, "1.31"), (1.3 + 1e-15, 1.3, repr(1.3 + 1e-15))],
)
def test_a_number_shows_that_it_is_above_its_bound(value: float, bound: float, text: str) -> None:
    assert above(value, bound) == text


def test_a_share_shows_that_it_is_above_its_bound() -> None:
    assert percent_above(503 / 10_000, 0.05) == "5.03%"
    assert percent_above(0.31, 0.1) == "31.0%"


def test_one_blocked_record_is_not_several() -> None:
    """A message that begins "1 expired records are" reads as a mistake."""
    assert [counted_are(number, "expired record") for number in (1, 2)] == [
        "1 expired record is",
        "2 expired records are",
    ]


def test_brokers_with_different_defaults_fail_where_the_topic_leaves_it_to_them() -> None:
    brokers = {
        1: {"log.retention.hours": "1440"},
        2: {"log.retention.hours": "1440"},
        3: {"log.retention.ms": "3600000"},
    }
    of = subject()
    of = replace(of, snapshot=replace(of.snapshot, broker_configs=brokers))
    (failed,) = judged("broker-defaults", of)
    assert failed.verdict is Verdict.FAIL
    assert failed.message == "retention.ms is not declared, and differs by broker: 60d on 1, 2; 1h on 3"
    assert of.declared
    declared = replace(of, declared=replace(of.declared, config={"retention.ms": "60000"}))
    assert judged("broker-defaults", declared) == []
    assert judged("broker-defaults", subject()) == []


def test_a_possibly_hidden_topic_is_not_missing() -> None:
    of = replace(subject(), live=None)
    assert verdicts(judged("topic-missing", of)) == [Verdict.FAIL]
    hidden = replace(of, snapshot=replace(of.snapshot, hidden=frozenset({"t"})))
    assert verdicts(judged("topic-missing", hidden)) == [Verdict.UNDECIDABLE]


@pytest.mark.parametrize(
    ("score", "several", "expected"),
    [
        (0.5, 1, []),
        (0.5, 0, []),
        (1.0, None, []),
        (0.5, None, [Verdict.UNDECIDABLE]),
    ],
)
def test_a_key_in_several_partitions_may_have_more_than_it_has_in_one(
    score: float, several: int | None, expected: list[Verdict]
) -> None:
    counts = PartitionCounts(records=9, keys=3, hottest=5)
    study = None if several is None else PlacementStudy(3, (), several, (((0, 1), (1, 1)),))
    placement = KeyPlacement(4, 3, {"murmur2": score}, study)
    of = replace(subject(contents=Contents(key=KeyContents(max_share=0.5))), committed=dict.fromkeys(range(4), counts))
    assert verdicts(judged("hot-key", replace(of, placement=placement))) == expected
    above = replace(of, committed={0: replace(counts, hottest=25), 1: counts, 2: counts, 3: counts})
    assert verdicts(judged("hot-key", replace(above, placement=placement))) == [Verdict.FAIL]


def test_a_key_that_is_the_hottest_of_several_partitions_is_counted_in_all_of_them() -> None:
    """The key has 55.6% of a topic with four partitions, 13.9% in each partition."""
    counts = {
        number: PartitionCounts(records=90, keys=10, hottest=50, hottest_offset=number, hottest_key=7)
        for number in range(4)
    }
    of = replace(subject(contents=Contents(key=KeyContents(max_share=0.5))), committed=counts)
    (judgement,) = judged("hot-key", of)
    assert (judgement.verdict, judgement.partitions) == (Verdict.FAIL, (0, 1, 2, 3))
    assert judgement.evidence == {"share": 0.5556, "records": 200, "offset": 0}
    others = {number: replace(each, hottest_key=number) for number, each in counts.items()}
    assert judged("hot-key", replace(of, committed=others)) == []
