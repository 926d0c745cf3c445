"""No consumer group loses records before it has committed them.

A consumer group continues from its committed offset. If the log starts after that offset, ``auto.offset.reset``
decides. The group then loses the records in between, and with ``latest`` also all records written until then.

**fail**: an earlier audit saw a committed record that the group had not read. The record is gone, the group has not
committed it, and a member of the group is assigned the partition. Until an audit found the record gone, the partition
had the same leader, and the group's committed offset did not go back. Brokers do not know what a member has read since
its last commit: a group that commits late loses the record only if it starts again before. **suspect**: the next
records to read expire within a tenth of ``retention.ms``, or are in the oldest tenth of a log that has reached
``retention.bytes``.
**undecidable**, each with the group, the partitions and the number of offsets:

- offsets are gone that a group has not committed, and no audit saw a record among them: they may be transaction
  markers, aborted records or gaps. A group that has committed the offset of the last transaction's marker has read
  everything. Audit more often than records expire (``topicwarden watch``);
- the same, and no member is known to read the partition now: the group may be abandoned, or about to come back;
- the committed offset is after the log end: the topic was truncated, or created again under the same name;
- in a compacted topic, unread records are older than ``delete.retention.ms``, and some are gone: if tombstones are
  among these, the group never learns of the deletions.

Also **undecidable**: there may be groups that this user may not see (Describe on the cluster, or on each group), or a
group lags and the topic's settings or records are not visible (DescribeConfigs and Read on the topic). Offsets that
consumers store elsewhere, as Flink and Connect's source connectors do, are not visible. The numbers count offsets: some
may belong to transaction markers, or to records that were compacted away. Offsets before the first unread record count
only among those that are gone. An audit remembers the first unread record of at most 64 pairs of a group and a
partition for each topic: first of those that a member reads, and that retention deletes first. In a compacted topic, a
later record with the same key may replace it, so nothing is proven there. Share groups settle records one by one: they
never fail.

Example: ``group billing has not committed the record at offset 4,711 of partition 0, which is gone``; a deployment
failed on Friday, and ``retention.ms`` is two days.

Confirm: ``kafka-consumer-groups --describe --group G`` prints the committed offset. ``kafka-get-offsets --topic T
--time earliest`` prints the log start.

Remedy: increase the retention before you start the group; restore the lost records from their source.

Prevent: raise an alarm if a group's lag, as time, comes near the retention; do not keep groups that nobody starts.

Source: KIP-211; ``SubscriptionState``, ``OffsetResetStrategy``; KIP-534 for tombstones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.cluster_context import SOON, GroupProgress
from topicwarden.audit.evidence import ConsumerGroups
from topicwarden.audit.history.known_unread import known_unread
from topicwarden.audit.history.topic_state import KnownUnread
from topicwarden.model.message_text import counted, counted_are, counted_more, first_lines
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup


class Required(ConsumerGroups): ...


_MAX_GROUPS = 8
_MAX_PARTITIONS = 3
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
    config = live.topic.config
    yield from _lost(subject)
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
        for partition, committed in sorted(group.offsets_by_topic.get(subject.live.topic.name, {}).items()):
            if partition in subject.live.extents and (count := count_offsets(partition, committed)) > 0:
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


def _lost(subject: Required) -> Iterable[CheckResult]:
    """Yield the results for the groups whose committed offset is before the log start.

    A group with a member has lost records for certain only if an earlier audit saw a record of them.
    """
    live, groups = subject.live, subject.consumer_groups
    gone = _count_by_group(groups, subject, lambda partition, committed: live.extents[partition].start - committed)
    proven: dict[str, dict[int, KnownUnread]] = {}
    for each in _known_lost(subject):
        proven.setdefault(each.group, {})[each.partition] = each
    unproven, unassigned = dict[str, OffsetCounts](), dict[str, OffsetCounts]()
    for group in groups.groups:
        counts = gone.get(group.name, {})
        assigned = {number for number in counts if (live.topic.name, number) in group.assigned}
        records = {number: each for number, each in proven.get(group.name, {}).items() if number in assigned}
        if records:
            yield _lost_records(subject, group, records, counts)
        _add(unproven, group, counts, assigned - records.keys())
        _add(unassigned, group, counts, counts.keys() - assigned)
    yield from _result_for_groups(
        groups,
        Verdict.UNDECIDABLE,
        unproven,
        "not committed and gone, and it is not known whether records were among them",
        because=(
            "the topic is compacted: later records with the same keys may have replaced those at these offsets"
            if subject.compacted
            else "no audit saw a record at these offsets, under the present leaders, before they were gone: they may "
            "be transaction markers, aborted records or gaps",
        ),
        remedy="audit more often than records expire (`topicwarden watch`): an audit remembers which records a group "
        "has not read",
    )
    yield from _result_for_groups(
        groups,
        Verdict.UNDECIDABLE,
        unassigned,
        "not committed and gone, for groups without a known member that reads them now",
        because=("the log starts after the committed offsets of these groups", "some may have held no record"),
        remedy=_REMEDY,
    )


def _known_lost(subject: Required) -> Iterable[KnownUnread]:
    """Yield the records that earlier audits saw, that are gone, and that a group has not committed."""
    if subject.group_lags is None or not subject.readable:
        return
    now, past = subject.snapshot.taken_at, subject.past.state
    known = known_unread(subject.live, past, now, subject.consumer_groups, subject.group_lags)
    yield from (each for each in known if each.gone)


def _add(found: dict[str, OffsetCounts], group: ConsumerGroup, counts: OffsetCounts, partitions: Set[int]) -> None:
    """Add the ``counts`` of some partitions of a group, if there are any."""
    if partitions:
        found[group.name] = {number: count for number, count in counts.items() if number in partitions}


def _lost_records(
    subject: Required, group: ConsumerGroup, records: Mapping[int, KnownUnread], counts: OffsetCounts
) -> CheckResult:
    """Return the result for a group that has not committed ``records``, by partition, which are gone."""
    first, *others = (each for _, each in sorted(records.items()))
    more = f"; nor has it committed records of {counted_more(len(others), 'partition')}" if others else ""
    offsets = sum(counts[number] for number in records)
    starts = [
        f"partition {each.partition}: the audit of {utc(each.seen)} saw the record at {each.offset:,}, the committed "
        f"offset is {each.committed:,}, and the log starts at {subject.live.extents[each.partition].start:,}"
        for each in (first, *others)[:_MAX_PARTITIONS]
    ]
    return CheckResult(
        Verdict.FAIL,
        f"group {group.name} has not committed the record at offset {first.offset:,} of partition {first.partition}, "
        f"which is gone{more}",
        path=("config", "retention.ms"),
        partitions=tuple(sorted(records)),
        because=(
            *starts,
            *(["…"] if len(records) > _MAX_PARTITIONS else []),
            f"at most {counted(offsets, 'record')} {'is' if offsets == 1 else 'are'} lost",
        ),
        remedy="increase the retention until the group has caught up; restore the lost records from their source",
        evidence={
            "group": group.name,
            "members": group.members,
            "offset": first.offset,
            "lost_partitions": len(records),
            "lost_at_most": offsets,
        },
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
        for total, name in totals
    ]
    total, worst = totals[0]
    yield CheckResult(
        verdict,
        f"{counted_are(sum(total for total, _ in totals), 'offset')} {what}; most by group {worst}: {total:,}",
        path=("config", "retention.ms"),
        partitions=tuple(sorted({partition for counts in found.values() for partition in counts})),
        because=(*first_lines(groups, _MAX_GROUPS, "group"), *because),
        remedy=remedy,
        evidence={"groups": len(found), "group": worst, "offsets": sum(total for total, _ in totals)},
    )
