"""Define cases for the check of consumer groups: each limit of a committed offset, and one offset on either side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.subjects import NOW, internal, subject, unreadable
from tests.unit.checks.cases import BOTH, COMPACT, FAIL, SUSPECT, UNDECIDABLE, Case, absent, extent, with_logs, without
from tests.unit.checks.topics import without_sources
from topicwarden.audit.audited_topic import AuditedTopic, ReadRecords
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.history.topic_state import KnownUnread, PreviousAudit, TopicState
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.group_lags import GroupLag, PartitionLag, UnreadRecord
from topicwarden.kafka.read.snapshot import PartitionReplicas

READING = frozenset({("t", 0)})
KEPT = {"retention.bytes": "1000"}


def committed(
    offset: int,
    assigned: frozenset[tuple[str, int]] = READING,
    *,
    topic: str = "t",
    start: int = 50,
    log_bytes: int | None = 1_000,
    live: dict[str, str] | None = None,
    expiring: int | None = None,
    forgotten: int | None = None,
    ends: int | None = 150,
) -> AuditedTopic:
    """Return a log with offsets ``[start, 150)`` and a group that has committed ``offset``."""
    group = ConsumerGroup("g", "Stable", 1, {(topic, 0): offset}, assigned)
    following = GroupProgress(
        (group,),
        {} if ends is None else {0: ends},
        {} if expiring is None else {0: expiring},
        {} if forgotten is None else {0: forgotten},
    )
    of = with_logs(subject(live=live), extent(start, 150, log_bytes=log_bytes))
    return replace(of, consumer_groups=following)


def shared(offset: int) -> AuditedTopic:
    """Return the log of ``committed`` with a share group instead."""
    of = committed(offset)
    assert of.consumer_groups
    group = ConsumerGroup("g", "Empty", None, {("t", 0): offset}, share=True)
    return replace(of, consumer_groups=replace(of.consumer_groups, groups=(group,)))


def read(records: int, start: int = 50, end: int = 150) -> AuditedTopic:
    """Return a compacted topic with ``records`` found in ``[start, end)``; the group must still read deletions."""
    of = committed(60, live=COMPACT, forgotten=61)
    return replace(of, counts={0: PartitionCounts(records=records)}, read_ranges={0: ReadRecords(start, end, 50)})


def two_partitions() -> AuditedTopic:
    """Return two partitions whose logs begin two offsets (partition 0) and one offset after the committed offset."""
    of = with_logs(subject(), extent(50, 150), extent(50, 150))
    group = ConsumerGroup("g", "Stable", 1, {("t", 0): 48, ("t", 1): 49}, frozenset({("t", 0), ("t", 1)}))
    return replace(of, consumer_groups=GroupProgress((group,), {0: 150, 1: 150}))


def lost_to(groups: int) -> AuditedTopic:
    """Return groups without members; group ``n`` has lost ``n`` offsets of partition 0, and group 9 one of partition 1.

    The names of the groups do not sort like these numbers.
    """
    of = with_logs(subject(), extent(50, 150), extent(50, 150))
    offsets = {n: {("t", 0): 50 - n, **({("t", 1): 49} if n == 9 else {})} for n in range(1, groups + 1)}
    found = tuple(ConsumerGroup(f"g{10 - n}", "Empty", 0, each) for n, each in offsets.items())
    return replace(of, consumer_groups=GroupProgress(found, {0: 150, 1: 150}))


def lost_in(partitions: int) -> AuditedTopic:
    """Return partitions whose logs begin one offset after the committed offset."""
    of = with_logs(subject(), *(extent(50, 150) for _ in range(partitions)))
    offsets = {("t", number): 49 for number in range(partitions)}
    group = ConsumerGroup("g", "Stable", 1, offsets, frozenset(offsets))
    return replace(of, consumer_groups=GroupProgress((group,), dict.fromkeys(range(partitions), 150)))


def leaderless() -> AuditedTopic:
    """Return a group that has committed an offset for a partition whose log is not visible."""
    of = committed(50)
    group = ConsumerGroup("g", "Stable", 1, {("t", 0): 50, ("t", 1): 0}, READING)
    return replace(of, consumer_groups=GroupProgress((group,), {0: 150}))


def behind_a_gap(first: int | None, **borders: Any) -> AuditedTopic:
    """Return a group that has committed 50, and the offset of the first record after that; None for none."""
    of = committed(50, **borders)
    record = None if first is None else UnreadRecord(first, 0, log_append_time=False)
    lag = GroupLag("g", "t", {0: PartitionLag(50, 100, record)})
    return replace(of, group_lags={"g": lag})


def seen_unread(
    of: AuditedTopic, *offsets: int, at: int = 49, epoch: int | None = 7, gone: bool = False, group: str = "g"
) -> AuditedTopic:
    """Return ``of`` after an audit that saw an unread record of each partition, at ``offsets`` from partition 0 on.

    The group had then committed ``at``, and each partition had the leader epoch 7; the epoch is now ``epoch``.
    """
    assert of.live and of.consumer_groups
    replicas = tuple(PartitionReplicas(number, 1, (1,), (1,), epoch) for number in of.live.extents)
    known = tuple(KnownUnread(group, number, at, offset, 7, NOW - 1, gone) for number, offset in enumerate(offsets))
    state = TopicState("c", "t", "id", NOW - 1, {}, {}, (), unread=known)
    lags = {each.name: GroupLag(each.name, "t", {}, each.share) for each in of.consumer_groups.groups}
    live = replace(of.live, replicas=replicas)
    return replace(of, live=live, group_lags=lags, past=PreviousAudit(state))


CASES = (
    Case("group-lag", "no record before the first that does not expire soon", behind_a_gap(80, expiring=80), ()),
    Case(
        "group-lag",
        "one record before the first that does not expire soon",
        behind_a_gap(79, expiring=80),
        (SUSPECT,),
        evidence={"offsets": 1},
    ),
    Case("group-lag", "no unread record", behind_a_gap(None, expiring=150), ()),
    Case(
        "group-lag",
        "no record older than delete.retention.ms",
        replace(behind_a_gap(80, forgotten=80), live=committed(50, live=COMPACT).live),
        (),
    ),
    Case(
        "group-lag",
        "one record older than delete.retention.ms",
        replace(behind_a_gap(79, forgotten=80), live=committed(50, live=COMPACT).live),
        (UNDECIDABLE,),
        evidence={"offsets": 1},
    ),
    Case("group-lag", "a share group's number is an upper bound", shared(49), (UNDECIDABLE,), says="g: at most 1 off"),
    Case(
        "group-lag",
        "a record is lost",
        seen_unread(committed(49), 49),
        (FAIL,),
        partitions=(0,),
        evidence={"group": "g", "members": 1, "offset": 49, "lost_partitions": 1, "lost_at_most": 1},
        says="has not committed the record at offset 49 of partition 0, which is gone partition 0: the audit of "
        "2027-01-15T07:59:59Z saw the record at 49, the committed offset is 49, and the log starts at 50 at most 1 "
        "record is lost increase",
    ),
    Case(
        "group-lag",
        "offsets at which no audit saw a record",
        committed(49),
        (UNDECIDABLE,),
        partitions=(0,),
        evidence={"offsets": 1},
        says="no audit saw a record at these offsets, under the present leaders, before they were gone: they may be "
        "transaction markers, aborted records or gaps audit more often",
    ),
    Case("group-lag", "the record is still there", seen_unread(committed(49), 50), (UNDECIDABLE,)),
    Case("group-lag", "the record was committed", seen_unread(committed(49), 48, at=48), (UNDECIDABLE,)),
    Case("group-lag", "the offset went back", seen_unread(committed(48), 49), (UNDECIDABLE,)),
    Case("group-lag", "another leader", seen_unread(committed(49), 49, epoch=8), (UNDECIDABLE,)),
    Case("group-lag", "a leader that is not known", seen_unread(committed(49), 49, epoch=None), (UNDECIDABLE,)),
    Case(
        "group-lag",
        "another leader, after the loss was proven",
        seen_unread(committed(49), 49, epoch=8, gone=True),
        (FAIL,),
    ),
    Case("group-lag", "lost before the log got longer", seen_unread(committed(49), 50, gone=True), (UNDECIDABLE,)),
    Case("group-lag", "the record of another group", seen_unread(committed(49), 49, group="h"), (UNDECIDABLE,)),
    Case("group-lag", "a share group", seen_unread(shared(49), 49), (UNDECIDABLE,)),
    Case("group-lag", "lost without a member", seen_unread(committed(49, frozenset()), 49), (UNDECIDABLE,)),
    Case("group-lag", "lost and not readable", unreadable(seen_unread(committed(49), 49)), (UNDECIDABLE,)),
    Case(
        "group-lag",
        "lost, by a policy that is not known",
        without(seen_unread(committed(49), 49), "cleanup.policy"),
        (UNDECIDABLE,),
    ),
    Case(
        "group-lag",
        "a record that compaction may have removed",
        seen_unread(committed(49, live=BOTH), 49),
        (UNDECIDABLE,),
        says="the topic is compacted: later records with the same keys may have replaced those at these offsets",
    ),
    Case(
        "group-lag",
        "records of two partitions are lost",
        seen_unread(two_partitions(), 48, 49, at=48),
        (FAIL,),
        partitions=(0, 1),
        evidence={"offset": 48, "lost_partitions": 2, "lost_at_most": 3},
        says="which is gone; nor has it committed records of 1 more partition",
    ),
    Case(
        "group-lag",
        "a record of one partition is lost, and an offset of another",
        seen_unread(two_partitions(), 49, at=48),
        (FAIL, UNDECIDABLE),
        partitions=(1,),
        evidence={"offsets": 1},
    ),
    Case(
        "group-lag",
        "records of three partitions are lost",
        seen_unread(lost_in(3), 49, 49, 49),
        (FAIL,),
        says="and the log starts at 50 at most 3 records are lost",
    ),
    Case(
        "group-lag",
        "records of four partitions are lost",
        seen_unread(lost_in(4), 49, 49, 49, 49),
        (FAIL,),
        evidence={"lost_partitions": 4, "lost_at_most": 4},
        says="and the log starts at 50 … at most 4 records are lost",
    ),
    Case("group-lag", "the first record is next", committed(50), ()),
    Case(
        "group-lag",
        "lost to a group without members",
        committed(49, frozenset()),
        (UNDECIDABLE,),
        partitions=(0,),
        evidence={"groups": 1, "group": "g", "offsets": 1},
    ),
    Case(
        "group-lag",
        "lost to eight groups",
        lost_to(8),
        (UNDECIDABLE,),
        evidence={"groups": 8, "group": "g2", "offsets": 36},
        says="group g9: 1 offset in 1 partition the log starts",
    ),
    Case(
        "group-lag",
        "lost to nine groups",
        lost_to(9),
        (UNDECIDABLE,),
        evidence={"groups": 9, "group": "g1", "offsets": 46},
        partitions=(0, 1),
        says="most by group g1: 10 group g1: 10 offsets in 2 partitions group g2: 8 offsets in 1 partition group g3",
    ),
    Case("group-lag", "lost to nine groups; eight are listed", lost_to(9), (UNDECIDABLE,), says="and 1 more"),
    Case("group-lag", "lost, and another partition is assigned", committed(49, frozenset({("t", 1)})), (UNDECIDABLE,)),
    Case("group-lag", "of a partition without a leader", leaderless(), ()),
    Case("group-lag", "of another topic", committed(49, topic="u"), ()),
    Case("group-lag", "one behind the end", committed(151), (UNDECIDABLE,), evidence={"offsets": 1}),
    Case("group-lag", "at the end", committed(150), ()),
    Case("group-lag", "behind the end of the snapshot, which has moved since", committed(151, ends=151), ()),
    Case("group-lag", "an end that nobody knows", committed(151, ends=None), ()),
    Case(
        "group-lag",
        "one expires soon",
        committed(60, expiring=61),
        (SUSPECT,),
        evidence={"offsets": 1},
        says="retention.ms is 60000, retention.bytes not known; at most a tenth of it is left",
    ),
    Case(
        "group-lag",
        "one expires soon, by a retention that is not known",
        without(committed(59, live=KEPT), "retention.ms"),
        (SUSPECT,),
        says="retention.ms is not known, retention.bytes 1000; ",
    ),
    Case("group-lag", "read before it expires", committed(61, expiring=61), ()),
    Case("group-lag", "lost some, and more expires", seen_unread(committed(49, expiring=61), 49), (FAIL,)),
    Case("group-lag", "the first record expires soon", committed(50, expiring=51), (SUSPECT,)),
    Case("group-lag", "the last record expires soon", committed(149, expiring=150), (SUSPECT,)),
    Case("group-lag", "read to the end, which expires soon", committed(150, expiring=200), ()),
    Case("group-lag", "an expiry behind the end", committed(140, expiring=200), (SUSPECT,), evidence={"offsets": 10}),
    Case(
        "group-lag", "in the oldest tenth of a full log", committed(59, live=KEPT), (SUSPECT,), evidence={"offsets": 1}
    ),
    Case("group-lag", "behind the oldest tenth of a full log", committed(60, live=KEPT), ()),
    Case("group-lag", "in the oldest tenth of a log that is not full", committed(59, live=KEPT, log_bytes=999), ()),
    Case("group-lag", "a log that keeps no bytes", committed(59, live={"retention.bytes": "0"}), (SUSPECT,)),
    Case("group-lag", "a log of a size that is not told", committed(59, live=KEPT, log_bytes=None), ()),
    Case("group-lag", "a policy that is not known", without(committed(59, live=KEPT), "cleanup.policy"), ()),
    Case("group-lag", "a log without a bound", committed(59, live={"retention.bytes": "-1"}), ()),
    Case("group-lag", "a bound that compaction does not know", committed(59, live={**KEPT, **COMPACT}), ()),
    Case("group-lag", "a bound of compaction and deletion", committed(59, live={**KEPT, **BOTH}), (SUSPECT,)),
    Case(
        "group-lag",
        "in the oldest tenth, and more expires",
        committed(55, live=KEPT, expiring=70),
        (SUSPECT,),
        evidence={"offsets": 15},
    ),
    Case(
        "group-lag",
        "deletions may be forgotten",
        read(99),
        (UNDECIDABLE,),
        evidence={"offsets": 1},
        says="delete.retention.ms is not known: tombstones may be gone",
    ),
    Case(
        "group-lag",
        "deletions may be forgotten after a known time",
        committed(60, live={**COMPACT, "delete.retention.ms": "1000"}, forgotten=61),
        (UNDECIDABLE,),
        says="delete.retention.ms is 1000: tombstones may be gone",
    ),
    Case(
        "group-lag",
        "deletions in records that this user may not read",
        unreadable(committed(60, live=COMPACT, forgotten=61)),
        (UNDECIDABLE,),
        says="this user may not read the records grant Read on the topic",
    ),
    Case(
        "group-lag",
        "no old deletions, in records that this user may not read",
        unreadable(committed(61, live=COMPACT, forgotten=61)),
        (),
    ),
    Case("group-lag", "records that this user may not read", unreadable(committed(60)), ()),
    Case(
        "group-lag",
        "unread, and settings that this user may not see",
        without_sources(committed(149)),
        (UNDECIDABLE,),
        says="grant DescribeConfigs on the topic",
    ),
    Case("group-lag", "all read, and settings that this user may not see", without_sources(committed(150)), ()),
    Case("group-lag", "nothing was ever compacted", read(100), ()),
    Case("group-lag", "deletions in records that were not read", replace(read(100), read_ranges={}), (UNDECIDABLE,)),
    Case("group-lag", "deletions in records that were not counted", replace(read(100), counts={}), (UNDECIDABLE,)),
    Case("group-lag", "compacted in what was not read", read(99, start=51), (UNDECIDABLE,)),
    Case("group-lag", "deletions that were read", committed(61, live=COMPACT, forgotten=61), ()),
    Case("group-lag", "the first deletion may be forgotten", committed(50, live=COMPACT, forgotten=51), (UNDECIDABLE,)),
    Case(
        "group-lag", "gone, and deletions may be forgotten", committed(49, live=COMPACT, forgotten=61), (UNDECIDABLE,)
    ),
    Case(
        "group-lag",
        "groups that this user may not see",
        replace(subject(), consumer_groups=GroupProgress(complete=False)),
        (UNDECIDABLE,),
    ),
    Case("group-lag", "no groups", replace(subject(), consumer_groups=GroupProgress()), ()),
    Case("group-lag", "nobody asked for groups", subject(), None),
    Case(
        "group-lag", "of Kafka itself", replace(internal("__consumer_offsets"), consumer_groups=GroupProgress()), None
    ),
    Case("group-lag", "not on the cluster", absent(committed(49)), None),
)
