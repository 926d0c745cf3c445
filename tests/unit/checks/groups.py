"""Cases of the check of consumer groups: each border of a committed offset, one offset to either side."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import internal, subject
from tests.unit.checks.cases import BOTH, COMPACT, FAIL, SUSPECT, UNDECIDABLE, Case, absent, extent, with_logs, without
from topicwarden.audit.collect.cluster_context import GroupFollowing
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.subject import AuditedTopic, ReadRecords
from topicwarden.kafka.consumer_groups import ConsumerGroup

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
    """A log of offsets ``[start, 150)`` and a group that has committed ``offset``."""
    group = ConsumerGroup("g", "Stable", 1, {(topic, 0): offset}, assigned)
    following = GroupFollowing(
        (group,),
        {} if ends is None else {0: ends},
        {} if expiring is None else {0: expiring},
        {} if forgotten is None else {0: forgotten},
    )
    of = with_logs(subject(live=live), extent(start, 150, log_bytes=log_bytes))
    return replace(of, consumer_groups=following)


def read(records: int, start: int = 50, end: int = 150) -> AuditedTopic:
    """A compacted topic of which so many records of ``[start, end)`` were found; the group has deletions to read."""
    of = committed(60, live=COMPACT, forgotten=61)
    return replace(of, counts={0: PartitionCounts(records=records)}, read_ranges={0: ReadRecords(start, end, 50)})


def two_partitions() -> AuditedTopic:
    """The log of partition 0 begins two offsets behind what is committed, and that of partition 1 one."""
    of = with_logs(subject(), extent(50, 150), extent(50, 150))
    group = ConsumerGroup("g", "Stable", 1, {("t", 0): 48, ("t", 1): 49}, frozenset({("t", 0), ("t", 1)}))
    return replace(of, consumer_groups=GroupFollowing((group,), {0: 150, 1: 150}))


def leaderless() -> AuditedTopic:
    """A group that has committed an offset of a partition whose log nobody can see."""
    of = committed(50)
    group = ConsumerGroup("g", "Stable", 1, {("t", 0): 50, ("t", 1): 0}, READING)
    return replace(of, consumer_groups=GroupFollowing((group,), {0: 150}))


CASES = (
    Case(
        "group-lag",
        "one offset is lost",
        committed(49),
        (FAIL,),
        partitions=(0,),
        evidence={"group": "g", "members": 1, "lost_offsets": 1},
        says="partition 0 starts at 50",
    ),
    Case(
        "group-lag",
        "offsets of two partitions are lost",
        two_partitions(),
        (FAIL,),
        partitions=(0, 1),
        evidence={"lost_offsets": 3},
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
    Case("group-lag", "lost, and another partition is assigned", committed(49, frozenset({("t", 1)})), (UNDECIDABLE,)),
    Case("group-lag", "of a partition without a leader", leaderless(), ()),
    Case("group-lag", "of another topic", committed(49, topic="u"), ()),
    Case("group-lag", "one behind the end", committed(151), (UNDECIDABLE,), evidence={"offsets": 1}),
    Case("group-lag", "at the end", committed(150), ()),
    Case("group-lag", "behind the end of the snapshot, which has moved since", committed(151, ends=151), ()),
    Case("group-lag", "an end that nobody knows", committed(151, ends=None), ()),
    Case("group-lag", "one expires soon", committed(60, expiring=61), (SUSPECT,), evidence={"offsets": 1}),
    Case("group-lag", "read before it expires", committed(61, expiring=61), ()),
    Case("group-lag", "lost some, and more expires", committed(49, expiring=61), (FAIL,)),
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
    Case("group-lag", "deletions may be forgotten", read(99), (UNDECIDABLE,), evidence={"offsets": 1}),
    Case("group-lag", "nothing was ever compacted", read(100), ()),
    Case("group-lag", "deletions in records that were not read", replace(read(100), read_ranges={}), (UNDECIDABLE,)),
    Case("group-lag", "deletions in records that were not counted", replace(read(100), counts={}), (UNDECIDABLE,)),
    Case("group-lag", "compacted in what was not read", read(99, start=51), (UNDECIDABLE,)),
    Case("group-lag", "deletions that were read", committed(61, live=COMPACT, forgotten=61), ()),
    Case("group-lag", "the first deletion may be forgotten", committed(50, live=COMPACT, forgotten=51), (UNDECIDABLE,)),
    Case("group-lag", "lost some, and deletions may be forgotten", committed(49, live=COMPACT, forgotten=61), (FAIL,)),
    Case(
        "group-lag",
        "groups that this user may not see",
        replace(subject(), consumer_groups=GroupFollowing(complete=False)),
        (UNDECIDABLE,),
    ),
    Case("group-lag", "no groups", replace(subject(), consumer_groups=GroupFollowing()), ()),
    Case("group-lag", "nobody asked for groups", subject(), None),
    Case(
        "group-lag", "of Kafka itself", replace(internal("__consumer_offsets"), consumer_groups=GroupFollowing()), None
    ),
    Case("group-lag", "not on the cluster", absent(committed(49)), None),
)
