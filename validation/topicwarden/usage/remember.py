"""Add observations to what is known of the use of topics.

Times are those of observations; a use is between two of them.

Source: ``ProducerAppendInfo`` and ``ProducerStateEntry``, for what changes the position of a producer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from topicwarden.kafka.read.transactions import ProducerPosition
from topicwarden.model.usage import DAY_MS, Interval, UseAction, UserKind
from topicwarden.usage.join_records import join
from topicwarden.usage.observe import GroupState, ObservedGroup, ObservedProducers, ObservedTopic, UseObservation
from topicwarden.usage.use_records import (
    GroupMark,
    GroupRecord,
    Marks,
    ProducersMark,
    Sample,
    TopicRecord,
    UseRecords,
    UserRecord,
    by_end,
    later,
    latest,
    latest_of,
    newest_moves,
)

KEPT_MS: Final = 400 * DAY_MS
"""Users, groups and topics that no observation has seen for this time are forgotten."""
KEPT_SAMPLES: Final = 90
"""The number of days with a sample that are kept."""
KEPT_PRODUCER_IDS: Final = 50
"""The producer ids of a topic that are kept: the newest ones. A producer gets another one when it starts again."""

_INTERRUPTED: Final = "interrupted"
_SHARE: Final = "share"
"""The type of share groups (KIP-932)."""


def remember(records: UseRecords, seen: UseObservation) -> UseRecords:
    """Return ``records`` with one more observation of the same cluster.

    An observation that is not later than the last one changes nothing: the clock of this machine, or of another one,
    has been set back, so it is not known what happened first.
    """
    if seen.taken_at <= records.observed_at:
        return records
    now, oldest = seen.taken_at, seen.taken_at - KEPT_MS
    topics = {key: each for key, each in records.topics.items() if each.observed_at >= oldest}
    moved: dict[str, Interval] = {}
    for topic in seen.topics.values():
        key = topic.topic, topic.topic_id
        record = remember_topic(records.topics.get(key), topic, now)
        topics[key] = record
        for user in record.users:
            if user.kind is UserKind.GROUP and user.last and user.last.until == now:
                moved[user.name] = max(moved.get(user.name, user.last), user.last, key=by_end)
    groups = {name: each for name, each in records.groups.items() if each.seen_at >= oldest}
    for group in seen.groups.values():
        groups[group.name] = _group(groups.get(group.name), group, moved.get(group.name), now)
    return UseRecords(records.cluster_id, now, topics, groups)


def remember_or_join(records: UseRecords, seen: UseObservation) -> UseRecords:
    """Return ``records`` with one more observation, which is not compared with a later one of another run.

    Another run may have saved a later observation meanwhile, or the clock of its machine is ahead.
    """
    if seen.taken_at > records.observed_at:
        return remember(records, seen)
    return join(records, remember(UseRecords(records.cluster_id), seen))


def interrupt(records: UseRecords, seen: UseObservation) -> UseRecords:
    """Return ``records`` after an observation that is not later than the last one, and so cannot be compared with it.

    If it saw other declared access of a topic, a use of the topic before the next observation may have been declared.
    No observation has the digest that the topic then gets.
    """
    changed = {
        key: replace(record, access=_INTERRUPTED, access_seen={**record.access_seen, topic.access: record.observed_at})
        for topic in seen.topics.values()
        if (record := records.topics.get(key := (topic.topic, topic.topic_id))) and record.access != topic.access
    }
    return replace(records, topics={**records.topics, **changed}) if changed else records


def _group(record: GroupRecord | None, group: GroupState, moved: Interval | None, now: int) -> GroupRecord:
    last = Interval(now, now) if group.active else later(record.last if record else None, moved)
    return GroupRecord(
        group.name,
        first_seen=record.first_seen if record else now,
        seen_at=now,
        last=last,
        active_at=now if group.active else record.active_at if record else None,
        type=group.type,
        topics=group.topics,
    )


def remember_topic(record: TopicRecord | None, seen: ObservedTopic, now: int) -> TopicRecord:
    """Return ``record`` with one more observation of the same topic, at ``now`` (ms), which is later than the others.

    ``record`` is None if the topic with this id was not observed before.
    """
    before = record or TopicRecord(seen.topic, seen.topic_id, now, now)
    readers = [_Reader(group, before, seen, now) for group in seen.groups]
    writers = _writers(before, seen, now)
    unchanged = record is not None and before.access == seen.access and _equal_if_known(before.deployed, seen.deployed)
    since = before.unchanged_since
    users = {user.key: user for user in before.users if user.seen_at >= now - KEPT_MS}
    for user in (*(reader.user() for reader in readers), *writers):
        users[user.key] = _seen_again(users.get(user.key), user)
    return TopicRecord(
        seen.topic,
        seen.topic_id,
        before.observed_since,
        now,
        seen.access,
        latest_of([before.written, *_moved_ends(before, seen, now), *(user.last for user in writers)]),
        latest_of([before.read, *(reader.changed for reader in readers)]),
        _limited(users.values()),
        _samples(before.samples, seen, now),
        {digest: at for digest, at in before.access_seen.items() if at >= now - KEPT_MS} | {seen.access: now},
        since if unchanged else now,
        ((before.access_again if since == before.access_since else None) or now) if unchanged else None,
        seen.deployed or before.deployed,
        before.groups_missed_at if seen.sees_groups else now,
        before.producers_missed_at if seen.sees_producers else now,
        before.log_ends_missed_at if seen.sees_log_ends else now,
        _marks(before.marks, seen, now, {reader.name for reader in readers if reader.moved}),
    )


def _equal_if_known(one: str, other: str) -> bool:
    return not one or not other or one == other


class _Reader:
    """One group of an observation of a topic, compared with the earlier ones.

    A commit is proven if an offset has grown, or if there was none at an observation that saw all groups. An offset
    that is lower may also be what an unclean leader election of ``__consumer_offsets`` restored. The start offset of a
    share group also grows without a consumer, when the locks of one that is gone expire
    (``SharePartition.releaseAcquisitionLockOnTimeout``): it proves a read only beyond the log end of an earlier
    observation. It often lags behind by a fetch, so that observation need not be the last one.
    """

    def __init__(self, group: ObservedGroup, before: TopicRecord, seen: ObservedTopic, now: int) -> None:
        self._group, self._now = group, now
        mark = before.marks.groups.get(group.name)
        if mark is None and before.observed_at < now and before.groups_missed_at != before.observed_at:
            mark = GroupMark(before.observed_at, {})
        grown = differs = False
        if mark is not None:
            offsets = [(offset, mark.committed.get(partition, -1)) for partition, offset in group.committed.items()]
            grown = any(offset > earlier for offset, earlier in offsets)
            differs = any(offset != earlier for offset, earlier in offsets)
        between = Interval(mark.at, now) if mark is not None else None
        self.moved = _share_move(group, before, now) if group.type == _SHARE else between if grown else None
        self.proven = Interval(now, now) if group.active else self.moved
        self.changed = self.proven or (between if differs else None)

    @property
    def name(self) -> str:
        return self._group.name

    def user(self) -> UserRecord:
        group, now = self._group, self._now
        return UserRecord(
            UseAction.READ,
            UserKind.GROUP,
            group.name,
            first_seen=now,
            seen_at=now,
            last=self.proven,
            active_at=now if group.active else None,
            group_type=group.type,
            members=group.members,
            hosts=group.hosts if group.active else frozenset(),
            moves=newest_moves([self.moved]),
        )


def _writers(before: TopicRecord, seen: ObservedTopic, now: int) -> list[UserRecord]:
    names = {**before.marks.transactional_ids, **seen.transactional_ids}
    lasts: dict[tuple[UserKind, str], Interval | None] = {
        (UserKind.TRANSACTIONAL_ID, name): Interval(now, now) for name in seen.ongoing
    }
    moves: dict[tuple[UserKind, str], Interval | None] = {}
    for partition, producers in seen.producers.items():
        mark = before.marks.producers.get(partition)
        for number, position in producers.positions.items():
            name = names.get(number)
            user = (UserKind.PRODUCER_ID, str(number)) if name is None else (UserKind.TRANSACTIONAL_ID, name)
            settled = mark is not None and mark.at == before.observed_at and name not in (None, *before.marks.ongoing)
            wrote = mark is not None and _wrote(mark, producers, number, position, settled=settled)
            moves[user] = later(moves.get(user), Interval(mark.at, now) if mark and wrote else None)
            lasts[user] = later(lasts.get(user), moves[user])
    return [
        UserRecord(
            UseAction.WRITE,
            kind,
            name,
            first_seen=now,
            seen_at=now,
            last=last,
            active_at=now if kind is UserKind.TRANSACTIONAL_ID and name in seen.ongoing else None,
            moves=newest_moves([moves.get((kind, name))]),
        )
        for (kind, name), last in lasts.items()
    ]


def _wrote(
    mark: ProducersMark, seen: ObservedProducers, producer: int, position: ProducerPosition, *, settled: bool
) -> bool:
    """Return whether it is proven that a producer has written to a partition since ``mark``.

    ``settled``: its transactional id is known, and had no transaction with the topic at ``mark``. A marker of a new
    epoch then ends a transaction that has begun since, and only a producer that may write adds a partition to one.
    A producer that ``mark`` lacks is a new one only if the leader is the same: another leader forgets producers at
    other times.
    """
    earlier = mark.positions.get(producer)
    if earlier is None:
        if seen.leader_epoch is None or seen.leader_epoch != mark.leader_epoch:
            return False
        return position.sequence is not None or settled
    if position.epoch == earlier.epoch:
        return position.sequence is not None and (earlier.sequence is None or position.sequence > earlier.sequence)
    if position.epoch < earlier.epoch:
        return False
    return position.sequence is not None or (settled and not earlier.in_transaction)


def _seen_again(known: UserRecord | None, user: UserRecord) -> UserRecord:
    if known is None:
        return user
    return replace(
        user,
        first_seen=known.first_seen,
        last=later(known.last, user.last),
        active_at=latest(known.active_at, user.active_at),
        hosts=user.hosts or known.hosts,
        moves=newest_moves([*known.moves, *user.moves]),
    )


def _limited(users: Iterable[UserRecord]) -> tuple[UserRecord, ...]:
    """Return the users sorted by key, with the newest producer ids only."""
    kept = {user.key: user for user in users}
    numbers = sorted(
        (user for user in kept.values() if user.kind is UserKind.PRODUCER_ID), key=lambda user: (user.seen_at, user.key)
    )
    for user in numbers[:-KEPT_PRODUCER_IDS]:
        del kept[user.key]
    return tuple(kept[key] for key in sorted(kept))


def _moved_ends(before: TopicRecord, seen: ObservedTopic, now: int) -> list[Interval]:
    """Return when log ends have moved. A partition that was not seen before counts, if it is not empty."""
    if before.observed_at == now:
        return []
    marks = before.marks.log_ends
    unseen = (before.observed_at, 0)
    return [
        Interval(at, now)
        for partition, end in seen.log_ends.items()
        for at, earlier in [marks.get(partition, unseen)]
        if end != earlier
    ]


def _samples(samples: tuple[Sample, ...], seen: ObservedTopic, now: int) -> tuple[Sample, ...]:
    if not seen.log_ends or not seen.sees_log_ends:  # the sum of some partitions would look like growth later
        return samples
    earlier = [sample for sample in samples[-KEPT_SAMPLES:] if sample[0] // DAY_MS != now // DAY_MS]
    return (*earlier, (now, sum(seen.log_ends.values()), seen.replica_bytes))[-KEPT_SAMPLES:]


def _share_move(group: ObservedGroup, before: TopicRecord, now: int) -> Interval | None:
    """Return when a share group has read a record that did not exist at the observation that is marked for it."""
    mark = before.marks.share_groups.get(group.name)
    read = mark is not None and any(
        partition in mark.committed and offset > mark.committed[partition]
        for partition, offset in group.committed.items()
    )
    return Interval(mark.at, now) if mark is not None and read else None


def _marks(marks: Marks, seen: ObservedTopic, now: int, moved: Collection[str]) -> Marks:
    """Return the marks of this observation, and earlier ones of what it did not see."""
    producers = {
        partition: ProducersMark(now, each.leader_epoch, each.positions) for partition, each in seen.producers.items()
    }
    merged = {**marks.producers, **producers}
    names = {**marks.transactional_ids, **seen.transactional_ids}
    groups = {group.name: GroupMark(now, group.committed) for group in seen.groups}
    return Marks(
        {**marks.log_ends, **{partition: (now, end) for partition, end in seen.log_ends.items()}},
        groups if seen.sees_groups else {**marks.groups, **groups},
        merged,
        {number: names[number] for each in merged.values() for number in each.positions if number in names},
        seen.ongoing,
        {
            group.name: GroupMark(now, seen.log_ends)
            if group.name in moved
            else marks.share_groups.get(group.name) or GroupMark(now, seen.log_ends)
            for group in seen.groups
            if group.type == _SHARE
        },
    )
