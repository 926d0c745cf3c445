"""Test internal topics in states that one broker cannot produce: replicas, sizes and permissions are set by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.repeated_audits import DEAD, DIRTY, Log, seen_empty
from tests.support.subjects import HORIZON, NOW, internal, subject, unreadable, with_brokers
from tests.unit.checks.groups import seen_unread
from topicwarden.audit.audited_topic import AuditedTopic, ReadRecords
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.collect.internal_topics import (
    KAFKA_TOPICS,
    InternalRole,
    KeyAndValue,
    recognise_internal_topics,
)
from topicwarden.audit.evidence import Counts
from topicwarden.audit.judge import judge, results_of, unsettled_checks
from topicwarden.audit.scan.contracts import NO_CONTRACTS
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import (
    INTERNAL_BYTES,
    INTERNAL_OFFSETS,
    PartitionRead,
    counting_options,
    limit_internal_topics,
)
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import PartitionExtent
from topicwarden.model.topic import INTERNAL_TOPICS
from topicwarden.model.verdict import Verdict

GROUPS = "__consumer_offsets"
CONNECT_STATUS = InternalRole.CONNECT_STATUS
STATUS = b'{"state": "RUNNING", "trace": null, "worker_id": "w:8083", "generation": 3}'
FAIL, PASS, UNDECIDABLE = Verdict.FAIL, Verdict.PASS, Verdict.UNDECIDABLE


def judged(check: str, of: AuditedTopic) -> list[CheckResult]:
    return list(results_of(CHECKS[check], of) or ())


@pytest.mark.parametrize(
    ("name", "replicas", "requested", "verdicts"),
    [
        (GROUPS, (1, 2, 3), "3", []),
        (GROUPS, (1,), "3", [FAIL]),  # created while only one broker was running
        (GROUPS, (1,), "1", [UNDECIDABLE]),  # as configured
        (GROUPS, (1, 2, 3), "5", []),  # the cluster has only three brokers
        ("app-x-changelog", (1,), "3", [UNDECIDABLE]),
    ],
)
def test_replicas_are_compared_with_the_brokers_settings(
    name: str, replicas: tuple[int, ...], requested: str, verdicts: list[Verdict]
) -> None:
    settings = {"offsets.topic.replication.factor": requested, "default.replication.factor": requested}
    assert [
        one.verdict for one in judged("internal-replication", with_brokers(internal(name, replicas), settings))
    ] == (verdicts)


@pytest.mark.parametrize(("least", "suspected"), [("1", True), ("2", False), ("3", True)])
def test_writes_on_one_broker(least: str, suspected: bool) -> None:
    of = internal("__transaction_state", settings={"min.insync.replicas": least})
    brokers = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}
    found = judged("internal-replication", with_brokers(of, brokers))
    assert [one.verdict for one in found] == [UNDECIDABLE] * suspected
    assert all(one.remedy == "set min.insync.replicas=2" for one in found)


def test_fewer_replicas_than_min_insync_replicas_are_no_violation_in_a_dry_run() -> None:
    of = internal("t", (1,), {"min.insync.replicas": "2"})  # Kafka 4.1.1 accepts such writes
    assert judged("min-insync-replicas", of) == []


def test_a_partition_of_a_terabyte_is_undecidable_beside_small_ones() -> None:
    of = internal(GROUPS, settings={"segment.bytes": str(100 << 20)})
    assert of.live
    sizes = {number: PartitionExtent(0, 10, 10, None, None, 20 << 20) for number in range(49)}
    assert judged("internal-size", replace(of, live=replace(of.live, extents=sizes))) == []
    grown = {**sizes, 49: PartitionExtent(0, 10, 10, None, None, 952_000_000_000)}
    (found,) = judged("internal-size", replace(of, live=replace(of.live, extents=grown)))
    assert (found.verdict, found.partitions) == (UNDECIDABLE, (49,))


def test_an_unreadable_topic_is_reported_once_and_does_not_pass() -> None:
    found = judge(unreadable(internal(GROUPS)))
    assert not any(issubclass(CHECKS[name].Required, Counts) for name in found)
    assert [one.verdict for one in found["internal-size"]] == [UNDECIDABLE]


def test_checks_that_did_not_judge_every_record_settle_nothing() -> None:
    hidden, sampled = unreadable(internal(GROUPS)), replace(subject(), coverage=0.01)
    assert "compaction-lag" in unsettled_checks(hidden, judge(hidden))
    of_records = {name for name, check in CHECKS.items() if issubclass(check.Required, Counts)}
    results = judge(sampled)
    assert unsettled_checks(sampled, results) == of_records & results.keys() != set()
    assert unsettled_checks(subject(), judge(subject())) == frozenset()


def test_possibly_hidden_groups_are_reported() -> None:
    of = replace(subject(), consumer_groups=GroupProgress(complete=False))
    assert [one.verdict for one in judged("group-lag", of)] == [UNDECIDABLE]
    assert judged("group-lag", replace(of, consumer_groups=GroupProgress())) == []


def test_a_committed_offset_of_a_topic_that_the_member_no_longer_reads_is_undecidable() -> None:
    of = subject()
    assert of.live
    live = replace(of.live, extents={0: PartitionExtent(50, 100, 100, None, None, None)})
    for assigned, verdict in ((frozenset({("t", 0)}), FAIL), (frozenset({("other", 0)}), UNDECIDABLE)):
        group = ConsumerGroup("g", "Stable", 1, {("t", 0): 20}, assigned)
        behind = replace(of, live=live, consumer_groups=GroupProgress((group,), {0: 100}))
        (found,) = judged("group-lag", seen_unread(behind, 30, at=20))
        assert found.verdict is verdict


@pytest.mark.parametrize(
    ("name", "records", "role", "certain"),
    [
        ("mm2-offsets.east.internal", [(b'["c",{"p":1}]', b'{"offset": 3}')], InternalRole.CONNECT_OFFSETS, True),
        ("mm2-offsets.east.internal", [(b'["c",{"p":1}]', b"3")], None, False),
        ("mm2-offsets.east.internal", [(b'["c",{"p":1}]', None)], None, False),
        ("orders-status", [(b"status-task-x-0", STATUS), (b"order-7", STATUS)], None, False),
        ("orders-status", [(b"status-task-x-0", STATUS), (None, STATUS)], None, False),
        ("orders-status", [(b"status-task-1", b'{"state": "RUNNING"}')], None, False),
        (
            "orders-status",
            [(b"status-task-x-0", STATUS), (b"status-task-x-1", None)],
            InternalRole.CONNECT_STATUS,
            False,
        ),
        (
            "orders-status",
            [(b"status-task-x-0", STATUS), (b"status-connector-x", None)],
            InternalRole.CONNECT_STATUS,
            True,
        ),
        ("task-config", [(b"task-1", b"{}"), (b"task-2", b"{}")], None, False),
        ("task-config", [(b"task-a-1", b"high"), (b"commit-abc", b"{}")], None, False),
        ("commit-config", [(b"connector-a", b'{"properties": {}}')], InternalRole.CONNECT_CONFIGS, False),
        (
            "commit-config",
            [(b"connector-a", b'{"properties": {}}'), (b"commit-a", b'{"tasks": 1}')],
            InternalRole.CONNECT_CONFIGS,
            True,
        ),
        ("shop-repartition", [], None, False),
        ("shop-by-key-repartition", [], InternalRole.REPARTITION, False),
        ("shop-by-day-repartition", [], InternalRole.REPARTITION, True),
        ("eu-connect-configs", [], InternalRole.CONNECT_CONFIGS, False),
        ("orders-status", [], None, False),
        ("shop-KTABLE-FK-JOIN-subscription-response-topic", [], InternalRole.REPARTITION, True),
        ("shop-KTABLE-FK-JOIN-subscription-registration-topic", [], InternalRole.REPARTITION, False),
        ("shop-v2-store-changelog", [], InternalRole.CHANGELOG, True),
        ("shopping-store-changelog", [], InternalRole.CHANGELOG, False),
        *((name, [], role, True) for name, role in KAFKA_TOPICS.items()),
    ],
)
def test_recognition(name: str, records: list[KeyAndValue], role: InternalRole | None, certain: bool) -> None:
    read = ("shop-by-day-repartition", "shop-KTABLE-FK-JOIN-subscription-response-topic")
    applications = [
        ConsumerGroup("shop", "Empty", 0, {(topic, 0): 1 for topic in read}, streams=True),
        ConsumerGroup("shopping", "Empty", 0),
    ]
    found = recognise_internal_topics([name], applications, {name: records}, workers=True).get(name)
    assert (found and found.role, bool(found and found.certain)) == (role, certain)


def test_records_like_those_of_connect_are_no_proof_without_workers() -> None:
    records: dict[str, list[KeyAndValue]] = {"connect-offsets": [(b'["c",{"p":1}]', b"{}")]}
    found = recognise_internal_topics(records, (), records, workers=False)["connect-offsets"]
    assert not found.certain


def test_every_internal_topic_has_a_role() -> None:
    assert set(KAFKA_TOPICS) == INTERNAL_TOPICS - {"__cluster_metadata"}


@pytest.mark.parametrize(
    ("size", "offsets"),
    [(INTERNAL_BYTES, 10**10), (1000 * INTERNAL_BYTES, 10**7), (None, INTERNAL_OFFSETS), (10, 10**10)],
)
def test_only_the_head_of_an_endless_log_is_read(size: int | None, offsets: int) -> None:
    of, horizon = internal(GROUPS).live, replace(HORIZON, rolled=10**11, cleanable=10**11, lagging=5)
    assert of
    whole = PartitionRead(OffsetRange(0, GROUPS, 0, 7, 7 + 10**10), True, horizon)
    live = replace(of, extents={0: PartitionExtent(7, 7 + 10**10, 7 + 10**10, None, None, size)})
    (head,) = limit_internal_topics([whole], {GROUPS: live})
    assert head.range.end == 7 + offsets
    if head != whole:
        assert (head.horizon.rolled, head.horizon.cleanable, head.horizon.lagging) == (7 + offsets, 7 + offsets, 5)
    other = replace(live, topic=replace(live.topic, name="orders"))
    assert limit_internal_topics([whole], {GROUPS: other}) == [whole]


def test_deleted_keys_are_looked_for_only_if_their_tombstone_is_read() -> None:
    """The head that is read gets shorter when the bytes of an offset grow. A tombstone after it was not read."""
    read = PartitionRead(OffsetRange(0, GROUPS, 0, 7, 50), True, HORIZON)
    keys = [(GROUPS, 0, 5, 49), (GROUPS, 0, 6, 50), (GROUPS, 1, 7, 49)]
    options = json.loads(counting_options([read], NO_CONTRACTS, NOW, keys))
    assert options["parts"][0]["graves"] == [[5, 49]]


@pytest.mark.parametrize(
    ("size", "lag", "proven"), [(952_000_000_000, "0", True), (952_000_000_000, "1", False), (100_000, "0", False)]
)
def test_records_after_the_cleaner_checkpoint_count_as_dirty(size: int, lag: str, proven: bool) -> None:
    class Head(Log):
        def subject(self) -> AuditedTopic:
            return replace(super().subject(), read_ranges={0: ReadRecords(0, 100, 0)})

    log: Log = Head(
        dict.fromkeys(range(100), 5),
        {**DEAD, "min.compaction.lag.ms": lag, "segment.bytes": str(100 << 20)},
        DIRTY,
        replace(HORIZON, rolled=100, cleanable=100),
        end=10**9,
        size=size,
    )
    log = seen_empty(log)
    log.look()
    result = log.look(after=365 * 24 * 3_600_000)["compaction-ratio"]
    assert result.verdict is (FAIL if proven else PASS)
