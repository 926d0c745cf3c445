"""Remember the first record that each group has not read, so that a later audit can prove that the group lost it.

Offsets before a log start prove nothing: they may belong to transaction markers, to aborted records, or to gaps. So an
audit remembers a record that it saw, and a later one finds it gone. These histories end the proof:

- another leader leads the partition: it may have truncated the log, and groups may have started again in it (KIP-101);
- the group's committed offset went back, or the group was deleted: what it read before is not known;
- the topic is compacted: a later record with the same key may have replaced the record.

A topic that is created again has another id, and so no earlier state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from topicwarden.audit.history.topic_state import KnownUnread, TopicState
from topicwarden.kafka.read.group_lags import GroupLag
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent

if TYPE_CHECKING:
    from topicwarden.audit.collect.cluster_context import GroupProgress
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

MAX_KNOWN = 64
"""Unread records to remember for each topic."""

Lags = Mapping[str, GroupLag]


def known_unread(
    live: LiveTopic, past: TopicState | None, now: int, progress: GroupProgress | None, lags: Lags | None
) -> tuple[KnownUnread, ...]:
    """Return the first unread records after an audit at ``now`` (ms), at most ``MAX_KNOWN``.

    Those that are gone are marked. ``past`` is the previous state of the same topic, and ``progress`` and ``lags`` are
    of its groups. If ``lags`` is None, this user may not read the topic: remembered records stay as they are.

    Records of groups whose members read the partition now come first. Among these, those with the fewest offsets
    before them in the log come first, because retention deletes them first.
    """
    before = past.unread if past else ()
    if progress is None:
        return before
    if live.topic.internal or live.topic.compacted:
        return ()
    groups = {group.name: group for group in progress.groups}
    found = {(each.group, each.partition): each for each in _seen_now(live, now, groups, lags)}
    for each in before:
        kept = _kept(each, live, groups.get(each.group), lags, complete=progress.complete)
        if kept is not None:
            found[each.group, each.partition] = kept

    def urgency(each: KnownUnread) -> tuple[bool, int, str, int]:
        group, log = groups.get(each.group), live.extents.get(each.partition)
        idle = group is None or (live.topic.name, each.partition) not in group.assigned
        return idle, each.offset - (log.start if log else 0), each.group, each.partition

    return tuple(sorted(found.values(), key=urgency)[:MAX_KNOWN])


def _seen_now(
    live: LiveTopic, now: int, groups: Mapping[str, ConsumerGroup], lags: Lags | None
) -> Iterator[KnownUnread]:
    """Yield the committed records that this audit saw."""
    if live.topic.cleanup_policies is None:
        return
    for name, lag in (lags or {}).items():
        for partition, unread in lag.partitions.items() if not lag.at_most else ():
            committed, epoch = _committed(live, groups.get(name), partition), _leader_epoch(live, partition)
            if unread.record is not None and unread.record.committed and committed is not None and epoch is not None:
                yield KnownUnread(name, partition, committed, unread.record.offset, epoch, now)


def _kept(
    each: KnownUnread, live: LiveTopic, group: ConsumerGroup | None, lags: Lags | None, *, complete: bool
) -> KnownUnread | None:
    """Return a remembered record as this audit sees it; None if the group cannot be proven to lose it."""
    if group is None or group.hidden:
        return None if group is None and complete else each
    committed, log = _committed(live, group, each.partition), live.extents.get(each.partition)
    if group.share or committed is None or not each.committed <= committed <= each.offset:
        return None
    if log is None or lags is None or live.topic.cleanup_policies is None:
        return each
    return replace(each, committed=committed, gone=each.offset < log.start) if _stands(each, live, log, lags) else None


def _stands(each: KnownUnread, live: LiveTopic, log: PartitionExtent, lags: Lags) -> bool:
    """Return whether the remembered record still proves something: it is in the log, or is gone under its leader."""
    if each.gone:
        return each.offset < log.start
    if each.leader_epoch != _leader_epoch(live, each.partition):
        return False
    unread = lags[each.group].partitions.get(each.partition) if each.group in lags else None
    return each.offset < log.start or unread is None or unread.unknown is not None


def _committed(live: LiveTopic, group: ConsumerGroup | None, partition: int) -> int | None:
    return group.offsets.get((live.topic.name, partition)) if group else None


def _leader_epoch(live: LiveTopic, partition: int) -> int | None:
    return next((state.leader_epoch for state in live.replicas if state.partition == partition), None)
