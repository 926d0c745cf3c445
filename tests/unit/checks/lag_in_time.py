"""Define cases for the check of unread records: the limit, and one millisecond on either side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.support.subjects import NOW, subject
from tests.unit.checks.cases import FAIL, SUSPECT, UNDECIDABLE, Case, extent, with_logs
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.cluster_context import GroupProgress
from topicwarden.audit.history.topic_state import OpenFinding, PartitionState, PreviousAudit, TopicState
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.group_lags import Position, UnreadRecord, UnreadRecords, group_lags
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.contents import ConsumerContents, Contents

CHECK = "lag-in-time"
HOUR = 3_600_000
LIMIT = HOUR + 5_000
"""The oldest age that passes: an hour, and the tolerance for clocks."""
LIMITED = Grant("User:g", name="g", max_lag=HOUR)
ALL_GROUPS = Contents(consumers=ConsumerContents(max_lag=HOUR))


def appended(age_ms: int, **of_record: object) -> UnreadRecord:
    """Return a record at offset 60 whose timestamp the broker set."""
    return replace(UnreadRecord(60, NOW - age_ms, True, 7), **of_record)  # type: ignore[arg-type]


def created(age_ms: int, **of_record: object) -> UnreadRecord:
    """Return a record at offset 60 whose timestamp the producer set."""
    return replace(UnreadRecord(60, NOW - age_ms, False, 7), **of_record)  # type: ignore[arg-type]


def behind(
    record: UnreadRecord | str | None,
    *consume: Grant,
    groups: Mapping[str, int] | None = None,
    contents: Contents | None = None,
    share: bool = False,
    complete: bool = True,
    end: int = 150,
    past: PreviousAudit | None = None,
) -> AuditedTopic:
    """Return a log with offsets ``[50, 150)``, and groups with their committed offsets (default: ``g`` at 55).

    ``record`` is the next record of all groups, or the reason for which it is not known.
    """
    of = subject(contents=contents, replicas=PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3), leader_epoch=7))
    of = with_logs(of, extent(50, end))
    assert of.declared and of.live
    found = tuple(
        ConsumerGroup(name, "Empty", 0, {("t", 0): offset}, share=share)
        for name, offset in ({"g": 55} if groups is None else groups).items()
    )
    positions: list[Position] = [("t", 0, max(50, offset)) for group in found for offset in group.offsets.values()]
    unread = UnreadRecords(
        {} if isinstance(record, str) else dict.fromkeys(positions, record),
        dict.fromkeys(positions, record) if isinstance(record, str) else {},
    )
    return replace(
        of,
        declared=replace(of.declared, access=TopicAccess(consume=consume)),
        consumer_groups=GroupProgress(found, {0: end}, complete=complete),
        group_lags={lag.group: lag for lag in group_lags(found, {"t": of.live}, unread).values()},
        past=past or PreviousAudit(),
    )


def audited(age_ms: int, end: int, epoch: int | None = 7, remembered: Mapping[str, int] | None = None) -> PreviousAudit:
    """Return a previous audit ``age_ms`` ago, which saw the log end at ``end``."""
    partition = PartitionState(0, 50, end, end, None, 1, epoch, 0)
    open_findings = (OpenFinding(CHECK, 0, "pass", NOW - age_ms, remembered, {}),) if remembered else ()
    return PreviousAudit(TopicState("c", "t", "id", NOW - age_ms, {}, {}, (partition,), open_findings))


def at(age_ms: int, end: int, epoch: int = 7) -> dict[str, int]:
    """Return an earlier observation as the history remembers it."""
    return {"at 0": NOW - age_ms, "end 0": end, "epoch 0": epoch}


def unreadable_topic() -> AuditedTopic:
    return replace(behind(appended(0), LIMITED), group_lags=None, counts=None, committed=None)


def named(count: int) -> dict[str, int]:
    return {f"g{number}": 55 for number in range(count)}


CASES = (
    Case(CHECK, "no limit is declared", behind(appended(LIMIT + 1), Grant("User:g", name="g")), None),
    Case(CHECK, "the groups were not read", replace(behind(None, LIMITED), consumer_groups=None), None),
    Case(CHECK, "the group has read everything", behind(None, LIMITED, groups={"g": 150}), ()),
    Case(CHECK, "only markers and gaps follow", behind(None, LIMITED), ()),
    Case(CHECK, "the broker's timestamp is at the limit", behind(appended(LIMIT), LIMITED), ()),
    Case(
        CHECK,
        "the broker's timestamp is a millisecond older",
        behind(appended(LIMIT + 1), LIMITED),
        (FAIL,),
        {"group": "g", "groups": 1, "offset": 60, "age_ms": LIMIT + 1, "max_lag": HOUR},
        (0,),
        "the broker set its timestamp",
    ),
    Case(
        CHECK,
        "retention deletes the record at any time",
        behind(appended(LIMIT + 1), LIMITED),
        (FAIL,),
        says="retention.ms is 1m: the record may be deleted at any time",
    ),
    Case(
        CHECK,
        "a limit for all groups",
        behind(appended(2 * HOUR), contents=ALL_GROUPS, groups={"a": 55, "b": 149}),
        (FAIL,),
        {"groups": 2, "group": "a"},
        says="group b: partition 0 has 1 unread offset, limit 1h",
    ),
    Case(
        CHECK,
        "nine groups",
        behind(appended(2 * HOUR), contents=ALL_GROUPS, groups=named(9)),
        (FAIL,),
        {"groups": 9},
        says="and 1 more group",
    ),
    Case(
        CHECK,
        "the group's own limit is higher than that of all groups",
        behind(appended(2 * HOUR), replace(LIMITED, max_lag=3 * HOUR), contents=ALL_GROUPS),
        (),
    ),
    Case(
        CHECK,
        "the limit of the whole name is before that of its start",
        behind(
            appended(2 * HOUR),
            Grant("User:a", name="g", max_lag=3 * HOUR),
            Grant("User:b", name="g", prefix=True, max_lag=HOUR),
        ),
        (),
    ),
    Case(
        CHECK,
        "the limit of the longest start",
        behind(
            appended(2 * HOUR),
            Grant("User:a", name="g", prefix=True, max_lag=3 * HOUR),
            Grant("User:b", name="gr", prefix=True, max_lag=HOUR),
            groups={"group": 55},
        ),
        (FAIL,),
        {"max_lag": HOUR},
    ),
    Case(
        CHECK,
        "the lowest limit of one name",
        behind(appended(2 * HOUR), replace(LIMITED, principal="User:b", max_lag=3 * HOUR), LIMITED),
        (FAIL,),
        {"max_lag": HOUR},
    ),
    Case(
        CHECK,
        "a share group may have settled the record",
        behind(appended(2 * HOUR), LIMITED, share=True),
        (SUSPECT,),
        says="a share group settles records one by one",
    ),
    Case(
        CHECK,
        "only the producer's timestamp is too old",
        behind(created(LIMIT + 1), LIMITED),
        (SUSPECT,),
        {"age_ms": LIMIT + 1},
        says="only the producer's timestamp",
    ),
    Case(CHECK, "the producer's timestamp is at the limit", behind(created(LIMIT), LIMITED), ()),
    Case(
        CHECK,
        "the previous audit saw the record longer ago than the limit",
        behind(created(0), LIMITED, past=audited(LIMIT + 1, 61)),
        (FAIL,),
        {"age_ms": LIMIT + 1},
        says="is at least 1 h",
    ),
    Case(
        CHECK,
        "the previous audit saw the record just within the limit",
        behind(created(3 * HOUR), LIMITED, past=audited(LIMIT, 61)),
        (SUSPECT,),
    ),
    Case(
        CHECK,
        "the previous audit saw the log end at the record",
        behind(created(3 * HOUR), LIMITED, past=audited(LIMIT + 1, 60)),
        (SUSPECT,),
    ),
    Case(
        CHECK,
        "the record was written since an audit within the limit",
        behind(created(3 * HOUR), LIMITED, past=audited(HOUR - 5_000, 60)),
        (),
    ),
    Case(
        CHECK,
        "a later leader may have replaced the record",
        behind(created(3 * HOUR, leader_epoch=8), LIMITED, past=audited(2 * HOUR, 100)),
        (SUSPECT,),
    ),
    Case(
        CHECK,
        "the leader of the previous audit is not known",
        behind(created(3 * HOUR), LIMITED, past=audited(2 * HOUR, 100, epoch=None)),
        (SUSPECT,),
    ),
    Case(
        CHECK,
        "a batch of an old format has no leader epoch",
        behind(created(3 * HOUR, leader_epoch=-1), LIMITED, past=audited(2 * HOUR, 100)),
        (SUSPECT,),
    ),
    Case(
        CHECK,
        "an audit before the previous one saw the record",
        behind(created(3 * HOUR), LIMITED, past=audited(60_000, 140, remembered=at(2 * HOUR, 100))),
        (FAIL,),
        {"age_ms": 2 * HOUR},
        says="saw the log end at 100",
    ),
    Case(
        CHECK,
        "the record is far in the future",
        behind(created(-5_001), LIMITED),
        (UNDECIDABLE,),
        {"age_ms": None},
        says="is 5 s in the future",
    ),
    Case(CHECK, "the clocks differ slightly", behind(created(-5_000), LIMITED), ()),
    Case(
        CHECK,
        "the record has no timestamp",
        behind(created(0, timestamp=-1), LIMITED),
        (UNDECIDABLE,),
        says="the record has no timestamp",
    ),
    Case(
        CHECK,
        "a record in the future that an earlier audit saw",
        behind(created(-HOUR), LIMITED, past=audited(2 * HOUR, 61)),
        (FAIL,),
        {"age_ms": 2 * HOUR},
    ),
    Case(
        CHECK,
        "the record may be of an open transaction",
        behind(appended(2 * HOUR, committed=False), LIMITED),
        (UNDECIDABLE,),
        says="may be of an open transaction",
    ),
    Case(
        CHECK,
        "an old timestamp in an open transaction",
        behind(created(2 * HOUR, committed=False), LIMITED),
        (UNDECIDABLE,),
        says="may be of an open transaction",
    ),
    Case(CHECK, "a young record of an open transaction", behind(appended(HOUR, committed=False), LIMITED), ()),
    Case(
        CHECK,
        "the record could not be read",
        behind("its leader did not answer", LIMITED),
        (UNDECIDABLE,),
        {"offset": 55, "timestamp": None},
        says="is of unknown age",
    ),
    Case(CHECK, "the topic may not be read", unreadable_topic(), (UNDECIDABLE,), says="may not read the records"),
    Case(
        CHECK,
        "the committed offset is before the log start",
        behind(appended(2 * HOUR), LIMITED, groups={"g": 10}),
        (FAIL,),
        says="partition 0 has 100 unread offsets",
    ),
    Case(
        CHECK,
        "the group has committed nothing",
        behind(None, LIMITED, groups={}),
        (UNDECIDABLE,),
        says="no offset is committed in the topic",
    ),
    Case(CHECK, "the topic is empty", behind(None, LIMITED, groups={}, end=50), ()),
    Case(
        CHECK,
        "the group may be hidden",
        behind(None, LIMITED, groups={}, complete=False),
        (UNDECIDABLE,),
        says="there may be more groups than the 0",
    ),
    Case(CHECK, "other groups may be hidden", behind(None, LIMITED, complete=False), ()),
    Case(
        CHECK,
        "groups with a limit may be hidden",
        behind(None, contents=ALL_GROUPS, complete=False),
        (UNDECIDABLE,),
        says="there may be more groups than the 1",
    ),
    Case(
        CHECK,
        "groups with the start of a name may be hidden",
        behind(None, replace(LIMITED, prefix=True), complete=False),
        (UNDECIDABLE,),
    ),
)
