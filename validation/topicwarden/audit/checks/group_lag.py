"""No group loses records that it has not read.

A consumer group reads on from the offset that it committed. Where the log begins behind that, ``auto.offset.reset``
decides: what lay between is lost to it, and with ``latest`` everything is that was written until then.

**fail**: of a partition that is assigned to a member of the group, the committed offset lies below where the log
begins: the records between are gone, and are not committed. **suspect**: the next records to read expire within a
tenth of ``retention.ms``, or lie in the oldest tenth of a log that has reached ``retention.bytes``; the next audit
finds them read, or lost. **undecidable**, each with the group, the partitions and the number of offsets:

- records are gone that a group has not read of which no member is known to read now: it may be abandoned, or not be
  back yet;
- the committed offset lies behind the log's end: the topic was truncated, or created again under its name;
- in a compacted topic, records older than ``delete.retention.ms`` are still to be read, and some are gone: tombstones
  may be among those, and the group would never learn of the deletions.

Also **undecidable**: there may be groups that this user may not see (Describe on the cluster, or on each group), or a
group lags and the topic's settings or records may not be seen (DescribeConfigs and Read on the topic). What others
commit elsewhere, as Flink and Connect's sources do, is not seen. Counted are offsets: some of them may belong to
transaction markers, or to records that were compacted away.

Example: ``group billing has not read 312 offsets that are gone``; a deployment failed on Friday, and ``retention.ms``
is two days.

Remedy: lengthen the retention before the group is started; get what is lost from its source.

Source: KIP-211; ``SubscriptionState``, ``OffsetResetStrategy``; KIP-534 for tombstones.
"""

from collections.abc import Callable, Iterable, Mapping

from topicwarden.audit.collect.cluster_context import SOON, GroupFollowing
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.snapshot import PartitionExtent
from topicwarden.model.verdict import Verdict

TRAITS = Traits()
_MOST_GROUPS = 8
_REMEDY = "start it again, or delete it if nobody needs it (`kafka-consumer-groups --delete`)"

Counted = Mapping[int, int]
"""Offsets by partition."""


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.following is not None and not subject.live.topic.internal


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    live, following = subject.live, subject.following
    assert live and following
    if not following.complete:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"there may be groups beside the {len(following.groups)} that this user may see",
            remedy="grant Describe on the cluster, or on each group",
        )
    yield from _unseen(subject, following)
    logs, config = live.extents, live.topic.config
    lost = _by_group(following, subject, lambda number, at: logs[number].start - at)
    for group in following.groups:
        held = {
            number: count
            for number, count in lost.get(group.name, {}).items()
            if _reads(group, live.topic.name, number)
        }
        if held:
            yield _lost(group, held, logs)
    left = {
        group.name: held
        for group in following.groups
        if (
            held := {
                number: count
                for number, count in lost.get(group.name, {}).items()
                if not _reads(group, live.topic.name, number)
            }
        )
    }
    yield from _by_groups(
        Verdict.UNDECIDABLE,
        left,
        "not read and gone, by groups of which no member is known to read them now",
        ("the log begins behind what they have committed",),
        _REMEDY,
    )
    yield from _by_groups(
        Verdict.UNDECIDABLE,
        _by_group(following, subject, lambda number, at: at - following.ends.get(number, at)),
        "committed behind the log's end",
        ("the topic was truncated, or deleted and created again, and auto.offset.reset will decide where they go on",),
        "reset the groups' offsets",
    )
    yield from _by_groups(
        Verdict.SUSPECT,
        _by_group(following, subject, lambda number, at: _expiring(subject, following, number, at)),
        "not read yet, which will be deleted before long",
        (
            f"retention.ms is {config.get('retention.ms', 'not known')}, retention.bytes "
            f"{config.get('retention.bytes', 'not known')}; a tenth of it is left, or less",
        ),
        "see to the consumers, or lengthen the retention until they have caught up",
    )
    yield from _by_groups(
        Verdict.UNDECIDABLE,
        _by_group(following, subject, lambda number, at: _forgotten(subject, following, number, at)),
        "not read yet, which are older than delete.retention.ms: deletions among them may never be seen",
        (
            f"delete.retention.ms is {config.get('delete.retention.ms', 'not known')}: tombstones stay no longer",
            "records of these partitions have been compacted away",
        ),
        "read the topic again from its beginning, after what was built from it is emptied",
    )


def _unseen(subject: AuditedTopic, following: GroupFollowing) -> Iterable[CheckResult]:
    """What is not known of groups that lag, as it rests on the topic's settings or on its records."""
    assert subject.live
    logs = subject.live.extents
    behind = _by_group(following, subject, lambda number, at: logs[number].end - at)
    old = _by_group(following, subject, lambda number, at: _old(subject, following, number, at))
    if behind and not subject.settings_known:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "how soon records expire that groups have not read is not known, as the brokers did not tell the topic's "
            "configuration",
            remedy="grant DescribeConfigs on the topic",
        )
    elif old and not subject.readable and subject.compacted:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "whether deletions are gone that groups have not read is not known, as the records may not be read",
            remedy="grant Read on the topic",
        )


def _reads(group: ConsumerGroup, topic: str, partition: int) -> bool:
    return (topic, partition) in group.assigned


def _by_group(
    following: GroupFollowing, subject: AuditedTopic, offsets: Callable[[int, int], int]
) -> dict[str, dict[int, int]]:
    """By group and partition, ``offsets`` of the partition and the committed offset, where that is more than none."""
    assert subject.live
    found: dict[str, dict[int, int]] = {}
    for group in following.groups:
        for (topic, number), at in sorted(group.offsets.items()):
            if (
                topic == subject.live.topic.name
                and number in subject.live.extents
                and (count := offsets(number, at)) > 0
            ):
                found.setdefault(group.name, {})[number] = count
    return found


def _expiring(subject: AuditedTopic, following: GroupFollowing, number: int, at: int) -> int:
    """Offsets from ``at`` on that time, or size, deletes before long; none where the group has lost some already."""
    assert subject.live
    log = subject.live.extents[number]
    if at < log.start or at >= log.end:
        return 0
    border = following.expiring_before.get(number, at)
    most = subject.number("retention.bytes")
    if "delete" in (subject.live.topic.cleanup_policies or ()) and most is not None and most >= 0:
        full = log.log_bytes is not None and log.log_bytes >= most
        border = max(border, log.start + (log.end - log.start) // SOON if full else at)
    return min(border, log.end) - at


def _forgotten(subject: AuditedTopic, following: GroupFollowing, number: int, at: int) -> int:
    assert subject.live
    if not subject.readable:
        return 0
    log, read, counts = subject.live.extents[number], subject.reading.get(number), subject.counts.get(number)
    whole = read is not None and counts is not None and (read.start, read.end) == (log.start, log.end)
    if whole and read and counts and counts.records == read.end - read.start:
        return 0  # nothing was ever taken out of what stands
    return _old(subject, following, number, at)


def _old(subject: AuditedTopic, following: GroupFollowing, number: int, at: int) -> int:
    """Return how many offsets from ``at`` on are older than ``delete.retention.ms``; 0 if the group has lost some."""
    assert subject.live
    log = subject.live.extents[number]
    return 0 if at < log.start else min(following.tombstones_removable_before.get(number, at), log.end) - at


def _lost(group: ConsumerGroup, held: Counted, logs: Mapping[int, PartitionExtent]) -> CheckResult:
    places = "; ".join(f"partition {number}: the log begins at {logs[number].start:,}" for number in list(held)[:3])
    return CheckResult(
        Verdict.FAIL,
        f"group {group.name} has not read {sum(held.values()):,} offsets that are gone",
        path=("config", "retention.ms"),
        partitions=tuple(held),
        because=(f"its committed offsets lie below where the logs begin: {places}{'; …' if len(held) > 3 else ''}",),
        remedy="lengthen the retention until the group has caught up; get what is lost from its source",
        evidence={"group": group.name, "members": group.members, "lost_offsets": sum(held.values())},
    )


def _by_groups(
    verdict: Verdict, found: Mapping[str, Counted], what: str, because: tuple[str, ...], remedy: str
) -> Iterable[CheckResult]:
    """One judgement for all groups, the worst first."""
    if not found:
        return
    totals = sorted(((sum(held.values()), name) for name, held in found.items()), reverse=True)
    groups = [
        f"group {name}: {total:,} offsets in {len(found[name])} partition{'s' if len(found[name]) > 1 else ''}"
        for total, name in totals[:_MOST_GROUPS]
    ]
    if len(totals) > _MOST_GROUPS:
        groups.append(f"and {len(totals) - _MOST_GROUPS} more groups")
    total, worst = totals[0]
    yield CheckResult(
        verdict,
        f"{sum(total for total, _ in totals):,} offsets {what}; most by group {worst}: {total:,}",
        path=("config", "retention.ms"),
        partitions=tuple(sorted({number for held in found.values() for number in held})),
        because=(*groups, *because),
        remedy=remedy,
        evidence={"groups": len(found), "group": worst, "offsets": sum(total for total, _ in totals)},
    )
