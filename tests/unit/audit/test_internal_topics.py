"""Internal topics as one broker cannot have them: replicas, sizes and rights, made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects import HORIZON, internal, subject, with_brokers
from tests.unit.audit.test_repeated_audits import DEAD, DIRTY, Log, seen_empty
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.cluster_context import GroupFollowing
from topicwarden.audit.collect.internal_topics import KAFKA_TOPICS, InternalRole, recognise_internal_topics
from topicwarden.audit.judge import judge
from topicwarden.audit.scan.internal_limits import MOST_BYTES, MOST_OFFSETS, limit_internal_topics
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.subject import AuditedTopic, CheckResult, ReadRecords
from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.snapshot import PartitionExtent
from topicwarden.model.topic import INTERNAL_TOPICS
from topicwarden.model.verdict import Verdict

GROUPS = "__consumer_offsets"
FAIL, PASS, UNDECIDABLE = Verdict.FAIL, Verdict.PASS, Verdict.UNDECIDABLE


def judged(check: str, of: AuditedTopic) -> list[CheckResult]:
    return list(CHECKS[check].judge(of)) if CHECKS[check].applies(of) else []


@pytest.mark.parametrize(
    ("name", "replicas", "asked", "verdicts"),
    [
        (GROUPS, (1, 2, 3), "3", []),
        (GROUPS, (1,), "3", [FAIL]),  # created while one broker was up
        (GROUPS, (1,), "1", [UNDECIDABLE]),  # as was asked for
        (GROUPS, (1, 2, 3), "5", []),  # there are only three brokers
        ("app-x-changelog", (1,), "3", [UNDECIDABLE]),
    ],
)
def test_replicas_against_what_the_brokers_ask_for(
    name: str, replicas: tuple[int, ...], asked: str, verdicts: list[Verdict]
) -> None:
    settings = {"offsets.topic.replication.factor": asked, "default.replication.factor": asked}
    assert [
        one.verdict for one in judged("internal-replication", with_brokers(internal(name, replicas), settings))
    ] == (verdicts)


@pytest.mark.parametrize(("least", "suspected"), [("1", True), ("2", False), ("3", True)])
def test_writes_that_are_on_one_broker_or_that_one_broker_stops(least: str, suspected: bool) -> None:
    of = internal("__transaction_state", settings={"min.insync.replicas": least})
    brokers = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}
    found = judged("internal-replication", with_brokers(of, brokers))
    assert [one.verdict for one in found] == [UNDECIDABLE] * suspected
    assert all(one.remedy == "set min.insync.replicas=2" for one in found)


def test_fewer_replicas_than_min_insync_replicas_refuse_nothing() -> None:
    of = internal("t", (1,), {"min.insync.replicas": "2"})  # Kafka 4.1.1 takes such writes
    assert judged("min-insync-replicas", of) == []


def test_a_partition_of_a_terabyte_is_undecidable_beside_small_ones() -> None:
    of = internal(GROUPS, settings={"segment.bytes": str(100 << 20)})
    assert of.live
    sizes = {number: PartitionExtent(0, 10, 10, None, None, 20 << 20) for number in range(49)}
    assert judged("internal-size", replace(of, live=replace(of.live, extents=sizes))) == []
    grown = {**sizes, 49: PartitionExtent(0, 10, 10, None, None, 952_000_000_000)}
    (found,) = judged("internal-size", replace(of, live=replace(of.live, extents=grown)))
    assert (found.verdict, found.partitions) == (UNDECIDABLE, (49,))


def test_what_may_not_be_read_is_said_once_and_not_passed() -> None:
    found = judge(replace(internal(GROUPS), readable=False))
    assert not any(CHECKS[name].TRAITS.reads_records for name in found)
    assert [one.verdict for one in found["internal-size"]] == [UNDECIDABLE]


def test_groups_that_may_be_hidden_are_said() -> None:
    of = replace(subject(), consumer_groups=GroupFollowing(complete=False))
    assert [one.verdict for one in judged("group-lag", of)] == [UNDECIDABLE]
    assert judged("group-lag", replace(of, consumer_groups=GroupFollowing())) == []


def test_a_committed_offset_of_a_topic_that_the_member_no_longer_reads_is_undecidable() -> None:
    of = subject()
    assert of.live
    live = replace(of.live, extents={0: PartitionExtent(50, 100, 100, None, None, None)})
    for assigned, verdict in ((frozenset({("t", 0)}), FAIL), (frozenset({("other", 0)}), UNDECIDABLE)):
        group = ConsumerGroup("g", "Stable", 1, {("t", 0): 20}, assigned)
        (found,) = judged("group-lag", replace(of, live=live, consumer_groups=GroupFollowing((group,), {0: 100})))
        assert found.verdict is verdict


@pytest.mark.parametrize(
    ("name", "keys", "role", "certain"),
    [
        ("mm2-offsets.east.internal", [b'["c",{"p":1}]'], InternalRole.CONNECT_OFFSETS, True),
        ("orders-status", [b"status-task-x-0", b"order-7"], None, False),
        ("eu-connect-configs", [], InternalRole.CONNECT_CONFIGS, False),
        ("orders-status", [], None, False),
        ("shop-KTABLE-FK-JOIN-subscription-response-topic", [], InternalRole.REPARTITION, True),
        ("shop-v2-store-changelog", [], InternalRole.CHANGELOG, True),
        ("shopping-store-changelog", [], InternalRole.CHANGELOG, False),
        *((name, [], role, True) for name, role in KAFKA_TOPICS.items()),
    ],
)
def test_recognition(name: str, keys: list[bytes], role: InternalRole | None, certain: bool) -> None:
    applications = [ConsumerGroup("shop", "Empty", 0, streams=True), ConsumerGroup("shopping", "Empty", 0)]
    found = recognise_internal_topics([name], applications, {name: keys} if keys else {}).get(name)
    assert (found and found.role, bool(found and found.certain)) == (role, certain)


def test_every_topic_that_kafka_keeps_for_itself_has_a_role_but_the_one_that_no_broker_serves() -> None:
    assert set(KAFKA_TOPICS) == INTERNAL_TOPICS - {"__cluster_metadata"}


@pytest.mark.parametrize(
    ("size", "offsets"),
    [(MOST_BYTES, 10**10), (1000 * MOST_BYTES, 10**7), (None, MOST_OFFSETS), (10, 10**10)],
)
def test_of_an_endless_log_the_head_is_read_and_the_borders_lie_within(size: int | None, offsets: int) -> None:
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


@pytest.mark.parametrize(
    ("size", "lag", "proven"), [(952_000_000_000, "0", True), (952_000_000_000, "1", False), (100_000, "0", False)]
)
def test_what_lies_behind_the_head_counts_as_dirty_but_for_a_segment(size: int, lag: str, proven: bool) -> None:
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
    said = log.look(after=365 * 24 * 3_600_000)["compaction-ratio"]
    assert said.verdict is (FAIL if proven else PASS)
