"""Define cases for the checks of retention."""

from __future__ import annotations

from dataclasses import replace

from tests.support.repeated_audits import DELETE as BY_SIZE
from tests.support.repeated_audits import Log, seen_empty
from tests.support.subjects import HORIZON, NOW, subject
from tests.unit.checks.cases import (
    BOTH,
    COMPACT,
    FAIL,
    PASS,
    SUSPECT,
    UNDECIDABLE,
    Case,
    absent,
    extent,
    out_of_sync,
    seen_again,
    with_counts,
    with_logs,
    without,
)
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.horizon import Horizon
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.snapshot import PartitionReplicas

DELETE = {"cleanup.policy": "delete"}
EXPIRED = PartitionCounts(records=100, expired=10, first_timestamp=NOW - 1_000_000)
OVERDUE = replace(HORIZON, overdue=1)
INTERVAL_MS = 300_000 + 30_000 + 5_000
"""The brokers' check interval, plus their delay after a start, plus the clock tolerance."""
EXPIRY_MS = 60_000 + 300_000 + 5_000
"""``retention.ms``, plus the brokers' check interval, plus the clock tolerance."""


def overdue(
    horizon: Horizon = OVERDUE, counts: PartitionCounts = EXPIRED, live: dict[str, str] | None = None
) -> AuditedTopic:
    return subject(counts, horizon, live=live)


def latest(age: int, live: dict[str, str] | None = None, log_bytes: int | None = 1_000) -> AuditedTopic:
    """Return a log whose youngest record is ``age`` ms old."""
    return with_logs(overdue(HORIZON, live=live), extent(latest=NOW - age, log_bytes=log_bytes))


def undated(latest: int | None) -> AuditedTopic:
    """Return a log with a record without a timestamp; the timestamp of its youngest record is ``latest``."""
    return with_logs(overdue(counts=replace(EXPIRED, undated=1)), extent(latest=latest))


def two_partitions(*counts: PartitionCounts) -> AuditedTopic:
    of = with_counts(overdue(), *counts)
    return replace(with_logs(of, extent(), extent()), horizons={0: OVERDUE, 1: OVERDUE})


def one_behind() -> AuditedTopic:
    """Return two partitions whose records have all expired; a replica of partition 1 is out of sync."""
    of = replace(two_partitions(EXPIRED, EXPIRED), horizons={0: HORIZON, 1: HORIZON})
    old = extent(latest=NOW - EXPIRY_MS - 1)
    of = with_logs(of, old, old)
    assert of.live
    states = (PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3)), PartitionReplicas(1, 1, (1, 2, 3), (1, 2)))
    return replace(of, live=replace(of.live, replicas=states))


def expired() -> Log:
    return seen_empty(Log({}, DELETE, counts=EXPIRED, horizon=OVERDUE))


def unexpired(offset: int) -> AuditedTopic:
    """Return a log whose settings are known from offset 60 on; its first unexpired record is at ``offset``."""
    log = Log({}, DELETE, counts=PartitionCounts(), end=60)
    log.look()
    log = replace(log, counts=EXPIRED, end=100, horizon=replace(OVERDUE, unexpired=offset))
    return seen_again(log, INTERVAL_MS + 1)


def hidden(margin: int) -> AuditedTopic:
    """Return a log that starts at offset 40; the records below it expired ``margin`` ms ago at the latest."""
    log = Log({}, DELETE, counts=EXPIRED, start=40, end=40, horizon=replace(HORIZON, start=40, overdue=41))
    log.look()
    log.end = 100
    now = log.now + INTERVAL_MS + 1
    log.horizon = replace(log.horizon, expired_time=now + margin)
    return seen_again(log, INTERVAL_MS + 1)


BEHIND = replace(HORIZON, unexpired=3, future_offset=3, future_timestamp=NOW + 1)


def blocked(behind: int = 1, horizon: Horizon = BEHIND, live: dict[str, str] | None = None) -> AuditedTopic:
    return subject(replace(EXPIRED, expired_behind_future=behind), horizon, live=live)


def sized(size: int | None, **live: str) -> AuditedTopic:
    """Return the first audit of a log of ``size`` bytes; ``retention.bytes`` and ``segment.bytes`` are 1,000."""
    settings = {**BY_SIZE, **{name.replace("_", "."): value for name, value in live.items()}}
    return with_logs(subject(live=settings), extent(log_bytes=size))


def large(size: int = 2_001, policy: str = "delete") -> Log:
    return seen_empty(Log({}, {**BY_SIZE, "cleanup.policy": policy}, counts=PartitionCounts(records=100), size=size))


def unknown_shape(size: int = 2_001) -> Log:
    """Return a log that no audit saw before it was written."""
    return Log({}, BY_SIZE, counts=PartitionCounts(records=100), size=size)


ANY_SEGMENT = 1_000 + 2**31 - 1
"""``retention.bytes``, plus the largest possible segment."""
LARGE = 2 << 30
LARGE_MS = 2 * 15_000 + 5_000 + 409_600
"""Twice the cleaner's back-off, plus the clock tolerance, plus ``LARGE`` at 5 MiB per second."""

CASES = (
    Case(
        "retention-time",
        "a rolled segment has expired",
        overdue(),
        (SUSPECT,),
        partitions=(0,),
        evidence={"retention.ms": 60_000, "oldest_timestamp": NOW - 1_000_000, "expired_records": 10},
        says="the oldest is 16 min 40 s old, retention.ms is 1m, and the brokers check every 5m",
    ),
    Case("retention-time", "no rolled segment has expired", overdue(HORIZON), ()),
    Case("retention-time", "no rolled segment behind the log start", overdue(replace(HORIZON, start=1, overdue=1)), ()),
    Case("retention-time", "the youngest record has expired", latest(EXPIRY_MS + 1), (SUSPECT,)),
    Case("retention-time", "the youngest record expires now", latest(EXPIRY_MS), ()),
    Case("retention-time", "a record has no timestamp, and all others have expired", undated(NOW - EXPIRY_MS - 1), ()),
    Case("retention-time", "no record has a timestamp", undated(None), ()),
    Case("retention-time", "the youngest is not told", with_logs(overdue(HORIZON), extent(latest=None)), ()),
    Case("retention-time", "the youngest has expired, and a replica is behind", out_of_sync(latest(EXPIRY_MS + 1)), ()),
    Case("retention-time", "no records", overdue(counts=PartitionCounts(keys=1)), ()),
    Case("retention-time", "behind a record of the future", blocked(horizon=replace(BEHIND, overdue=1)), ()),
    Case("retention-time", "compacted, and a rolled segment has expired", overdue(live=BOTH), ()),
    Case("retention-time", "compacted, and the youngest has expired", latest(EXPIRY_MS + 1, BOTH), (SUSPECT,)),
    Case("retention-time", "compacted, and sizes are not told", latest(EXPIRY_MS + 1, BOTH, None), (UNDECIDABLE,)),
    Case(
        "retention-time",
        "longer than brokers wait",
        seen_again(expired(), INTERVAL_MS + 1),
        (FAIL,),
        says="have checked retention since",
    ),
    Case("retention-time", "as long as brokers wait", seen_again(expired(), INTERVAL_MS), (SUSPECT,)),
    Case("retention-time", "the log start moved", seen_again(expired(), INTERVAL_MS + 1, start=0, epoch=8), (SUSPECT,)),
    Case(
        "retention-time",
        "a replica is behind",
        out_of_sync(seen_again(expired(), INTERVAL_MS + 1)),
        (PASS,),
        says="out of sync",
    ),
    Case(
        "retention-time",
        "the oldest segment may hold what has not expired",
        unexpired(59),
        (PASS,),
        says="may extend to offset 59",
    ),
    Case("retention-time", "the oldest segment cannot hold what has not expired", unexpired(60), (FAIL,)),
    Case("retention-time", "what DeleteRecords hid has expired", hidden(1), (FAIL,)),
    Case("retention-time", "what DeleteRecords hid expires now", hidden(0), (PASS,), says="DeleteRecords hid"),
    Case("retention-time", "a replica is behind at the first audit", out_of_sync(overdue()), (SUSPECT,)),
    Case(
        "retention-time",
        "nothing bounds what DeleteRecords hid",
        with_logs(hidden(1), extent(40, latest=None)),
        (PASS,),
        says="DeleteRecords hid",
    ),
    Case(
        "retention-time",
        "two partitions",
        two_partitions(EXPIRED, replace(EXPIRED, expired=5, first_timestamp=NOW - 2_000_000)),
        (SUSPECT,),
        evidence={"oldest_timestamp": NOW - 2_000_000, "expired_records": 15},
        partitions=(0, 1),
    ),
    Case(
        "retention-time",
        "the youngest has expired, and a replica of one of two partitions is behind",
        one_behind(),
        (SUSPECT,),
        partitions=(0,),
    ),
    Case("retention-time", "unlimited", overdue(live={"retention.ms": "-1"}), None),
    Case("retention-time", "for no time", overdue(live={"retention.ms": "0"}), (SUSPECT,)),
    Case("retention-time", "only compacted", overdue(live=COMPACT), None),
    Case("retention-time", "in tiered storage", overdue(live={"remote.storage.enable": "true"}), None),
    Case("retention-time", "not in tiered storage", overdue(live={"remote.storage.enable": "false"}), (SUSPECT,)),
    Case("retention-time", "not on the cluster", absent(overdue()), None),
    Case(
        "retention-blocked",
        "one expired behind it",
        blocked(),
        (FAIL,),
        partitions=(0,),
        evidence={
            "blocking_offset": 3,
            "blocking_timestamp": NOW + 1,
            "expires_not_before": NOW + 60_001,
            "expired_behind": 1,
        },
        says="the segment does not expire before 2027-01-15T08:01:00Z (timestamp + retention.ms of 60,000)",
    ),
    Case("retention-blocked", "none expired behind it", blocked(0), ()),
    Case("retention-blocked", "another record protects them first", blocked(horizon=replace(BEHIND, unexpired=2)), ()),
    Case(
        "retention-blocked",
        "nothing of the future",
        blocked(horizon=replace(BEHIND, future_offset=None, unexpired=None)),
        (),
    ),
    Case("retention-blocked", "records that were not read", replace(blocked(), counts={}), ()),
    Case("retention-blocked", "unlimited", blocked(live={"retention.ms": "-1"}), None),
    Case("retention-blocked", "not on the cluster", absent(blocked()), None),
    Case(
        "retention-size",
        "one byte too many",
        sized(2_001),
        (SUSPECT,),
        partitions=(0,),
        evidence={"retention.bytes": 1_000, "segment.bytes": 1_000, "largest_log": 2_001},
        says="less than retention.bytes plus the oldest segment audit again after",
    ),
    Case("retention-size", "as many bytes as may be", sized(2_000), ()),
    Case("retention-size", "a segment, where none is kept", sized(1_001, retention_bytes="0"), (SUSPECT,)),
    Case("retention-size", "sizes are not told", sized(None), (UNDECIDABLE,), partitions=(0,)),
    Case(
        "retention-size",
        "longer than brokers wait",
        seen_again(large(), INTERVAL_MS + 1),
        (FAIL,),
        says="have checked retention since",
    ),
    Case("retention-size", "as long as brokers wait", seen_again(large(), INTERVAL_MS), (SUSPECT,)),
    Case("retention-size", "the log start moved", seen_again(large(), INTERVAL_MS + 1, start=1), (SUSPECT,)),
    Case(
        "retention-size",
        "a replica is behind",
        out_of_sync(seen_again(large(), INTERVAL_MS + 1)),
        (PASS,),
        says="out of sync",
    ),
    Case(
        "retention-size",
        "the oldest segment may be larger",
        seen_again(unknown_shape(ANY_SEGMENT), INTERVAL_MS + 1),
        (PASS,),
        says="may be larger than segment.bytes",
    ),
    Case(
        "retention-size",
        "no segment may be so large",
        seen_again(unknown_shape(ANY_SEGMENT + 1), INTERVAL_MS + 1),
        (FAIL,),
    ),
    Case("retention-size", "one offset of unknown settings", seen_again(unknown_shape(), start=99), (PASS,)),
    Case("retention-size", "all written under known settings", seen_again(unknown_shape(), start=100), (SUSPECT,)),
    Case(
        "retention-size",
        "compacted, as long as brokers wait",
        seen_again(large(policy="compact,delete"), 305_000),
        (SUSPECT,),
    ),
    Case(
        "retention-size",
        "compacted, longer than brokers wait",
        seen_again(large(policy="compact,delete"), 305_001),
        (FAIL,),
    ),
    Case(
        "retention-size",
        "compacted, as long as a cleaner takes",
        seen_again(large(LARGE, "compact,delete"), LARGE_MS),
        (SUSPECT,),
    ),
    Case(
        "retention-size",
        "compacted, longer than a cleaner takes",
        seen_again(large(LARGE, "compact,delete"), LARGE_MS + 1),
        (FAIL,),
    ),
    Case("retention-size", "segments of an unknown size", without(sized(ANY_SEGMENT), "segment.bytes"), ()),
    Case(
        "retention-size",
        "more than segments of an unknown size",
        without(sized(ANY_SEGMENT + 1), "segment.bytes"),
        (SUSPECT,),
    ),
    Case(
        "retention-size",
        "two partitions",
        with_logs(sized(1), extent(log_bytes=2_001), extent(log_bytes=3_000), extent(log_bytes=2_000)),
        (SUSPECT,),
        evidence={"largest_log": 3_000},
        partitions=(0, 1),
    ),
    Case(
        "retention-size",
        "one size is not told",
        with_logs(sized(1), extent(log_bytes=2_001), extent(log_bytes=None)),
        (UNDECIDABLE, SUSPECT),
        partitions=(0,),
    ),
    Case("retention-size", "a policy that is not known", without(sized(2_001), "cleanup.policy"), None),
    Case("retention-size", "without a bound", sized(2_001, retention_bytes="-1"), None),
    Case("retention-size", "only compacted", sized(2_001, cleanup_policy="compact"), None),
    Case("retention-size", "in tiered storage", sized(2_001, remote_storage_enable="true"), None),
    Case("retention-size", "not on the cluster", absent(sized(2_001)), None),
)
