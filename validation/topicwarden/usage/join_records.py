"""Join what runs have saved of the use of topics, which may have run at the same time.

``join`` is idempotent, commutative and associative, so it does not matter in which order parts are read, or how often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from topicwarden.model.usage import DAY_MS
from topicwarden.usage.use_records import (
    GroupRecord,
    Sample,
    TopicRecord,
    UseRecords,
    UserRecord,
    later,
    latest,
    newest_moves,
)

K = TypeVar("K")
T = TypeVar("T")


def join(one: UseRecords, other: UseRecords) -> UseRecords:
    """Return what two runs know together, of the same cluster. Idempotent, commutative and associative."""
    return UseRecords(
        one.cluster_id,
        max(one.observed_at, other.observed_at),
        _united(one.topics, other.topics, _joined_topics),
        _united(one.groups, other.groups, _joined_groups),
    )


def _joined_topics(one: TopicRecord, other: TopicRecord) -> TopicRecord:
    newer = max(
        one,
        other,
        key=lambda each: (
            each.observed_at,
            each.access,
            each.access_since,
            each.access_again or 0,
            each.deployed,
            _order(each.marks),
        ),
    )
    users = _united({user.key: user for user in one.users}, {user.key: user for user in other.users}, _joined_users)
    return TopicRecord(
        one.topic,
        one.topic_id,
        min(one.observed_since, other.observed_since),
        newer.observed_at,
        newer.access,
        later(one.written, other.written),
        later(one.read, other.read),
        tuple(users[key] for key in sorted(users)),
        _joined_samples(one.samples, other.samples),
        _united(one.access_seen, other.access_seen, max),
        newer.access_since,
        newer.access_again,
        newer.deployed,
        latest(one.groups_missed_at, other.groups_missed_at),
        latest(one.producers_missed_at, other.producers_missed_at),
        latest(one.log_ends_missed_at, other.log_ends_missed_at),
        newer.marks,
    )


def _joined_users(one: UserRecord, other: UserRecord) -> UserRecord:
    newer = max(one, other, key=lambda each: (each.seen_at, _order((each.group_type, each.members))))
    hosts = max(one, other, key=lambda each: (each.active_at or 0, _order(each.hosts)))
    return replace(
        newer,
        first_seen=min(one.first_seen, other.first_seen),
        last=later(one.last, other.last),
        active_at=latest(one.active_at, other.active_at),
        hosts=hosts.hosts,
        moves=newest_moves([*one.moves, *other.moves]),
    )


def _joined_groups(one: GroupRecord, other: GroupRecord) -> GroupRecord:
    newer = max(one, other, key=lambda each: (each.seen_at, _order((each.type, each.topics))))
    return replace(
        newer,
        first_seen=min(one.first_seen, other.first_seen),
        last=later(one.last, other.last),
        active_at=latest(one.active_at, other.active_at),
    )


def _joined_samples(one: tuple[Sample, ...], other: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """Return the last sample of each day."""
    days: dict[int, Sample] = {}
    for sample in sorted({*one, *other}, key=lambda sample: (*sample[:2], -1 if sample[2] is None else sample[2])):
        days[sample[0] // DAY_MS] = sample
    return tuple(days.values())


def _united(one: Mapping[K, T], other: Mapping[K, T], joined: Callable[[T, T], T]) -> dict[K, T]:
    """Return the entries of both, those of the same key joined."""
    return {
        **one,
        **{key: joined(one[key], value) if key in one else value for key, value in other.items()},
    }


def _order(value: object) -> str:
    """Return a text by which equal values are equal and others differ, to choose between values of the same time."""
    return repr(_canonical(value))


def _canonical(value: object) -> object:
    if is_dataclass(value):
        return [_canonical(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, Mapping):
        return sorted((repr(_canonical(key)), _canonical(each)) for key, each in value.items())
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, tuple):
        return [_canonical(each) for each in value]
    return value
