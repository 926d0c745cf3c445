"""No consumer group loses records before it has committed them.

A consumer group continues from its committed offset. If the log starts after that offset, ``auto.offset.reset``
decides. The group then loses the records in between, and with ``latest`` also all records written until then.

**fail**: a member of the group is assigned the partition, and the committed offset is before the log start. The records
in between are gone, and the group has not committed them. Brokers do not know what a member has read since its last
commit: a group that commits late loses these records only if it starts again before. **suspect**: the next records to
read expire within a tenth of ``retention.ms``, or are in the oldest tenth of a log that has reached
``retention.bytes``. The next audit finds them read or lost. **undecidable**, each with the group, the partitions and
the number of offsets:

- records are gone that a group has not read, and no member is known to read the partition now: the group may be
  abandoned, or about to come back;
- the committed offset is after the log end: the topic was truncated, or created again under the same name;
- in a compacted topic, unread records are older than ``delete.retention.ms``, and some are gone: if tombstones are
  among these, the group never learns of the deletions.

Also **undecidable**: there may be groups that this user may not see (Describe on the cluster, or on each group), or a
group lags and the topic's settings or records are not visible (DescribeConfigs and Read on the topic). Offsets that
consumers store elsewhere, as Flink and Connect's source connectors do, are not visible. The numbers count offsets: some
may belong to transaction markers, or to records that were compacted away. Offsets before the first unread record count
only among those that are gone.

Example: ``group billing has not committed 312 offsets that are gone``; a deployment failed on Friday, and
``retention.ms`` is two days.

Confirm: ``kafka-consumer-groups --describe --group G`` prints the committed offset. ``kafka-get-offsets --topic T
--time earliest`` prints the log start.

Remedy: increase the retention before you start the group; restore the lost records from their source.

Prevent: raise an alarm if a group's lag, as time, comes near the retention; do not keep groups that nobody starts.

Source: KIP-211; ``SubscriptionState``, ``OffsetResetStrategy``; KIP-534 for tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.cluster_context import SOON, GroupProgress
from topicwarden.audit.evidence import ConsumerGroups
from topicwarden.kafka.read.snapshot import PartitionExtent
from topicwarden.model.message_text import counted, counted_are
from topicwarden.model.verdict import Verdict

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup


class Required(ConsumerGroups): ...


_MAX_GROUPS = 8
_REMEDY = "start the group again, or delete it if it is not needed (`kafka-consumer-groups --delete`)"

OffsetCounts = Mapping[int, int]
"""The number of offsets, by partition."""


def applies(subject: Required) -> bool:
    return not subject.live.topic.internal


def judge(subject: Required) -> Iterable[CheckResult]:
    live, groups = subject.live, subject.consumer_groups
    if not groups.complete:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"there may be more groups than the {len(groups.groups)} that this user may see",
            remedy="grant Describe on the cluster, or on each group",
        )
    yield from _hidden_evidence(subject, groups)
    logs, config = live.extents, live.topic.config
    lost = _count_by_group(groups, subject, lambda partition, committed: logs[partition].start - committed)
    unassigned: dict[str, OffsetCounts] = {}
    for group in groups.groups:
        counts = lost.get(group.name, {})
        assigned = {number: count for number, count in counts.items() if (live.topic.name, number) in group.assigned}
        if assigned:
            yield _lost(group, assigned, logs)
        if len(assigned) < len(counts):
            unassigned[group.name] = {number: count for number, count in counts.items() if number not in assigned}
    yield from _result_for_groups(
        groups,
        Verdict.UNDECIDABLE,
        unassigned,
        "unread and gone, for groups without a known member that reads them now",
        because=("the log starts after the committed offsets of these groups",),
        remedy=_REMEDY,
    )
    yield from _result_for_groups(
        groups,
        Verdict.UNDECIDABLE,
        _count_by_group(
            groups, subject, lambda partition, committed: committed - groups.ends.get(partition, committed)
        ),
        "committed after the log end",
        because=(
            "the topic was truncated, or deleted and created again",
            "auto.offset.reset decides where the groups continue",
        ),
        remedy="reset the groups' offsets",
    )
    yield from _result_for_groups(
        groups,
        Verdict.SUSPECT,
        _unread_by_group(subject, _expiring),
        "unread and will be deleted soon",
        because=(
            f"retention.ms is {config.get('retention.ms', 'not known')}, retention.bytes "
            f"{config.get('retention.bytes', 'not known')}; at most a tenth of it is left",
        ),
        remedy="check the consumers, or increase the retention until they have caught up",
    )
    yield from _result_for_groups(
        groups,
        Verdict.UNDECIDABLE,
        _unread_by_group(subject, _missed_deletions),
        "unread and older than delete.retention.ms: the groups may miss deletions among them",
        because=(
            f"delete.retention.ms is {config.get('delete.retention.ms', 'not known')}: tombstones may be gone",
            "records of these partitions have been compacted away",
        ),
        remedy="empty what the groups built from the topic, then read the topic again from its beginning",
    )


def _hidden_evidence(subject: Required, groups: GroupProgress) -> Iterable[CheckResult]:
    """Yield a result if a lagging group cannot be judged, because settings or records are not visible."""
    logs = subject.live.extents
    lag = _count_by_group(groups, subject, lambda partition, committed: logs[partition].end - committed)
    hidden = not subject.readable
    old = hidden and _count_by_group(groups, subject, lambda partition, committed: _old(subject, partition, committed))
    expiring = hidden and _count_by_group(
        groups, subject, lambda partition, committed: _expiring(subject, partition, committed)
    )
    if lag and not subject.settings_known:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "groups lag, and it is not known how soon the unread records expire: the brokers did not return the "
            "topic's configuration",
            remedy="grant DescribeConfigs on the topic",
        )
    elif expiring:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "groups lag, and it is not known whether unread records expire soon: this user may not read the records",
            remedy="grant Read on the topic",
        )
    elif old and subject.compacted:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "groups lag, and it is not known whether unread deletions are gone: this user may not read the records",
            remedy="grant Read on the topic",
        )


def _count_by_group(
    groups: GroupProgress, subject: Required, count_offsets: Callable[[int, int], int]
) -> dict[str, dict[int, int]]:
    """Return the positive numbers of offsets, by group and partition.

    ``count_offsets`` returns the number for a partition and a committed offset.
    """
    counts: dict[str, dict[int, int]] = {}
    for group in groups.groups:
        for (topic, partition), committed in sorted(group.offsets.items()):
            if (
                topic == subject.live.topic.name
                and partition in subject.live.extents
                and (count := count_offsets(partition, committed)) > 0
            ):
                counts.setdefault(group.name, {})[partition] = count
    return counts


def _unread_by_group(
    subject: Required, count_offsets: Callable[[Required, int, int], int]
) -> dict[str, dict[int, int]]:
    """Return the positive numbers of offsets from the first unread record on, by group and partition.

    The offsets before this record hold no record: they are of transaction markers, or of records that were compacted
    away. Partitions whose first unread record is not known are left out.
    """
    if not subject.readable:
        return {}

    def count(group: str, partition: int, committed: int) -> int:
        first = _first_unread(subject, group, partition, committed)
        lost = committed < subject.live.extents[partition].start
        return 0 if first is None or lost else count_offsets(subject, partition, first)

    counts: dict[str, dict[int, int]] = {}
    for group in subject.consumer_groups.groups:
        one = replace(subject.consumer_groups, groups=(group,))
        counts |= _count_by_group(one, subject, partial(count, group.name))
    return counts


def _first_unread(subject: Required, group: str, partition: int, committed: int) -> int | None:
    """Return the offset of the first record that a group has not read; None if there is none, or it is not known."""
    lag = subject.group_lags.get(group) if subject.group_lags is not None else None
    if lag is None:
        return committed
    unread = lag.partitions.get(partition)
    return unread.record.offset if unread is not None and unread.record is not None else None


def _expiring(subject: Required, partition: int, committed: int) -> int:
    """Return how many offsets from ``committed`` on retention deletes soon.

    0 if the group has lost some already, or if records without a timestamp may protect the others.
    """
    groups = subject.consumer_groups
    log, counts = subject.live.extents[partition], subject.partition_counts(partition)
    if (counts and counts.undated) or committed < log.start or committed >= log.end:
        return 0
    border = groups.expiring_before.get(partition, committed)
    retention_bytes = subject.number("retention.bytes")
    if "delete" in (subject.live.topic.cleanup_policies or ()) and retention_bytes is not None and retention_bytes >= 0:
        full = log.log_bytes is not None and log.log_bytes >= retention_bytes
        border = max(border, log.start + (log.end - log.start) // SOON if full else committed)
    return min(border, log.end) - committed


def _missed_deletions(subject: Required, partition: int, committed: int) -> int:
    """Return how many unread offsets are old enough that tombstones may be gone; 0 if no record was compacted away."""
    log, counts = subject.live.extents[partition], subject.partition_counts(partition)
    read = subject.read_ranges.get(partition)
    whole_log = read is not None and (read.start, read.end) == (log.start, log.end)
    if whole_log and read and counts and counts.records == read.end - read.start:
        return 0
    return _old(subject, partition, committed)


def _old(subject: Required, partition: int, committed: int) -> int:
    """Return how many offsets from ``committed`` on are older than ``delete.retention.ms``.

    0 if the group has lost some already.
    """
    log = subject.live.extents[partition]
    if committed < log.start:
        return 0
    return min(subject.consumer_groups.tombstones_removable_before.get(partition, committed), log.end) - committed


def _lost(group: ConsumerGroup, counts: OffsetCounts, logs: Mapping[int, PartitionExtent]) -> CheckResult:
    lost = sum(counts.values())
    starts = "; ".join(f"partition {number} starts at {logs[number].start:,}" for number in list(counts)[:3])
    return CheckResult(
        Verdict.FAIL,
        f"group {group.name} has not committed {counted(lost, 'offset')} that {'is' if lost == 1 else 'are'} gone",
        path=("config", "retention.ms"),
        partitions=tuple(counts),
        because=(f"its committed offsets are before the log start: {starts}{'; …' if len(counts) > 3 else ''}",),
        remedy="increase the retention until the group has caught up; restore the lost records from their source",
        evidence={"group": group.name, "members": group.members, "lost_offsets": lost},
    )


def _result_for_groups(
    progress: GroupProgress,
    verdict: Verdict,
    found: Mapping[str, OffsetCounts],
    what: str,
    *,
    because: tuple[str, ...],
    remedy: str,
) -> Iterable[CheckResult]:
    """Yield one result for all groups, sorted by their number of offsets; none if there are no groups.

    The records of a share group are acknowledged one by one, so its number is an upper bound (KIP-932).
    """
    if not found:
        return
    shares = {group.name for group in progress.groups if group.share}
    totals = sorted(((sum(counts.values()), name) for name, counts in found.items()), reverse=True)
    groups = [
        f"{f'share group {name}: at most' if name in shares else f'group {name}:'} {counted(total, 'offset')} "
        f"in {counted(len(found[name]), 'partition')}"
        for total, name in totals[:_MAX_GROUPS]
    ]
    if len(totals) > _MAX_GROUPS:
        groups.append(f"and {len(totals) - _MAX_GROUPS} more groups")
    total, worst = totals[0]
    yield CheckResult(
        verdict,
        f"{counted_are(sum(total for total, _ in totals), 'offset')} {what}; most by group {worst}: {total:,}",
        path=("config", "retention.ms"),
        partitions=tuple(sorted({partition for counts in found.values() for partition in counts})),
        because=(*groups, *because),
        remedy=remedy,
        evidence={"groups": len(found), "group": worst, "offsets": sum(total for total, _ in totals)},
    )
