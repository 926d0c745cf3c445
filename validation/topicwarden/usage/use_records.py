"""Records of the use of topics and groups in all observations: what a history saves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from topicwarden.kafka.read.transactions import ProducerPosition
from topicwarden.model.usage import GroupUse, Interval, TopicUse, Use, UseAction, UserKind, UseSample

Sample: TypeAlias = tuple[int, int, int | None]
"""The values of a ``UseSample``: there are many of them, which files have as plain lists."""
UserKey: TypeAlias = tuple[UseAction, UserKind, str]
TopicKey: TypeAlias = tuple[str, str]
"""The name and the id of a topic: a topic that was created again has another id."""


@dataclass(frozen=True)
class UserRecord:
    """One user of one topic in all observations: see ``Use``.

    ``seen_at`` is the last observation that saw the user, ``active_at`` the last one that saw a use in progress. Type
    and members are as of ``seen_at``; hosts as of ``active_at``.
    """

    action: UseAction
    kind: UserKind
    name: str
    first_seen: int
    seen_at: int
    last: Interval | None = None
    active_at: int | None = None
    group_type: str = ""
    members: int | None = None
    hosts: frozenset[str] = frozenset()
    moves: tuple[Interval, ...] = ()

    @property
    def key(self) -> UserKey:
        return self.action, self.kind, self.name


@dataclass(frozen=True)
class GroupMark:
    """The committed offsets of a group in a topic, by partition, as of one observation."""

    at: int
    committed: Mapping[int, int]


@dataclass(frozen=True)
class ProducersMark:
    """The producers of a partition as of one observation."""

    at: int
    leader_epoch: int | None
    positions: Mapping[int, ProducerPosition]


@dataclass(frozen=True)
class Marks:
    """The values with which the next observation of a topic is compared: those seen last, each with its observation.

    ``log_ends`` has, by partition, the observation and the offset.
    """

    log_ends: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    groups: Mapping[str, GroupMark] = field(default_factory=dict)
    producers: Mapping[int, ProducersMark] = field(default_factory=dict)
    transactional_ids: Mapping[int, str] = field(default_factory=dict)
    ongoing: frozenset[str] = frozenset()
    share_groups: Mapping[str, GroupMark] = field(default_factory=dict)
    """The log ends at an earlier observation, by share group, which has read no record beyond them since."""


@dataclass(frozen=True)
class TopicRecord:
    """One topic in all observations: see ``TopicUse``.

    ``access_seen`` has the last observation of each digest of declared access. ``access_since`` is the first of the
    observations since which it is the same, ``access_again`` the second one. ``deployed`` is the last known digest of
    the live ACLs. ``groups_missed_at``, ``producers_missed_at`` and ``log_ends_missed_at`` are the last observations
    that did not see all of them. ``samples`` has one for each day, the oldest first. ``marks`` are of the observation
    ``observed_at``.
    """

    topic: str
    topic_id: str
    observed_since: int
    observed_at: int
    access: str = ""
    written: Interval | None = None
    read: Interval | None = None
    users: tuple[UserRecord, ...] = ()
    samples: tuple[Sample, ...] = ()
    access_seen: Mapping[str, int] = field(default_factory=dict)
    access_since: int = 0
    access_again: int | None = None
    deployed: str = ""
    groups_missed_at: int | None = None
    producers_missed_at: int | None = None
    log_ends_missed_at: int | None = None
    marks: Marks = field(default_factory=Marks)

    @property
    def key(self) -> TopicKey:
        return self.topic, self.topic_id

    @property
    def unchanged_since(self) -> int:
        """The first observation since which no other access was seen, also by runs at the same time."""
        others = (at for digest, at in self.access_seen.items() if digest != self.access)
        return self.access_since if all(at < self.access_since for at in others) else self.observed_at

    def use(self) -> TopicUse:
        """Return the use of the topic."""
        missed = latest(latest(self.groups_missed_at, self.producers_missed_at), self.log_ends_missed_at)
        since = self.unchanged_since
        return TopicUse(
            self.topic,
            self.topic_id,
            self.observed_since,
            self.observed_at,
            self.written,
            self.read,
            tuple(
                Use(
                    user.action,
                    user.kind,
                    user.name,
                    user.first_seen,
                    user.last,
                    user.active_at == self.observed_at,
                    user.group_type,
                    user.members,
                    user.hosts,
                    user.moves,
                )
                for user in self.users
            ),
            tuple(map(UseSample._make, self.samples)),
            complete_since=self._since(missed),
            groups_complete_since=self._since(self.groups_missed_at),
            producers_complete_since=self._since(self.producers_missed_at),
            log_ends_complete_since=self._since(self.log_ends_missed_at),
            access_unchanged_since=since,
            access_seen_again=self.access_again if since == self.access_since else None,
        )

    def _since(self, unlike: int | None) -> int | None:
        """Return the time from which on no observation was at ``unlike`` or before; None if the last one was."""
        if unlike is None or unlike < self.observed_since:
            return self.observed_since
        return unlike + 1 if unlike < self.observed_at else None


@dataclass(frozen=True)
class GroupRecord:
    """A group in all observations, whatever it reads: see ``GroupUse``. Type and topics are as of ``seen_at``."""

    name: str
    first_seen: int
    seen_at: int
    last: Interval | None = None
    active_at: int | None = None
    type: str = ""
    topics: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UseRecords:
    """The use of a cluster in all observations. ``observed_at`` is the last one; 0 if there was none."""

    cluster_id: str
    observed_at: int = 0
    topics: Mapping[TopicKey, TopicRecord] = field(default_factory=dict)
    groups: Mapping[str, GroupRecord] = field(default_factory=dict)

    def topic_uses(self) -> dict[str, TopicUse]:
        """Return the use of each topic that the last observation saw, by name."""
        return {name: each.use() for (name, _), each in self.topics.items() if each.observed_at == self.observed_at}

    def group_uses(self) -> dict[str, GroupUse]:
        """Return the use of each group that the last observation saw, by name."""
        return {
            name: GroupUse(
                name,
                each.type,
                each.first_seen,
                each.seen_at,
                each.last,
                each.active_at == self.observed_at,
                each.topics,
            )
            for name, each in self.groups.items()
            if each.seen_at == self.observed_at
        }


def later(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return the interval that ends later, or of two with the same end the shorter one."""
    return latest_of([one, other])


def latest_of(intervals: Iterable[Interval | None]) -> Interval | None:
    return max((each for each in intervals if each is not None), key=by_end, default=None)


def newest_moves(intervals: Iterable[Interval | None]) -> tuple[Interval, ...]:
    """Return the last two of ``intervals``, the oldest first."""
    return tuple(sorted({each for each in intervals if each is not None}, key=by_end)[-2:])


def by_end(interval: Interval) -> tuple[int, int]:
    return interval.until, interval.after


def latest(one: int | None, other: int | None) -> int | None:
    return max((at for at in (one, other) if at is not None), default=None)
