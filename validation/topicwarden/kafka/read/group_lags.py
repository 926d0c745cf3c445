"""The lag of consumer groups in each topic: in offsets, and by the age of the oldest unread record.

Pure functions. A caller reads the groups after the log extents, and then the records:

    positions = unread_positions(groups, snapshot.topics)
    lags = group_lags(groups, snapshot.topics, cluster.unread_records(snapshot, positions))
    lag = lags["billing", "orders.placed.v1"]
    lag.offsets, lag.age_ms(snapshot.taken_at)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from topicwarden.kafka.read.snapshot import LiveTopic

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup


Position: TypeAlias = tuple[str, int, int]
"""A topic, a partition, and the offset of the next record that a consumer reads."""


@dataclass(frozen=True)
class UnreadRecord:
    """The first record at or after an offset that a consumer gets.

    - ``timestamp``: in milliseconds; -1 if the record has none.
    - ``log_append_time``: true if the broker set the timestamp when it appended the record, false for the producer's.
    - ``leader_epoch``: that of the leader that appended the record; -1 if the format of the batch has none.
    - ``committed``: false if the record is at or after the last stable offset, so that it may be one of an open
      transaction. A consumer that reads committed waits for the end of this transaction.
    """

    offset: int
    timestamp: int
    log_append_time: bool
    leader_epoch: int = -1
    committed: bool = True


@dataclass(frozen=True)
class UnreadRecords:
    """The first unread record by position; None if only markers and gaps follow up to the log end.

    ``unknown`` has the reason for each position whose record was not found out.
    """

    records: Mapping[Position, UnreadRecord | None] = field(default_factory=dict)
    unknown: Mapping[Position, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PartitionLag:
    """The unread part of one partition: from ``position``, the committed offset or a later log start, on.

    ``record`` is the first record of it. None if there is no record up to the log end, or if ``unknown`` says why the
    record is not known. ``offsets`` counts all offsets, so also those of transaction markers and gaps.
    """

    position: int
    offsets: int
    record: UnreadRecord | None = None
    unknown: str | None = None


@dataclass(frozen=True)
class GroupLag:
    """The unread partitions of one topic for one group. Partitions that it has read to the end are left out.

    ``at_most`` is true for a share group: it settles records one by one, and some from its offset on may be settled.
    """

    group: str
    topic: str
    partitions: Mapping[int, PartitionLag]
    at_most: bool = False

    @property
    def offsets(self) -> int:
        """The number of unread offsets; 0 if no record is in them."""
        return sum(lag.offsets for lag in self.partitions.values() if lag.record is not None or lag.unknown is not None)

    def age_ms(self, now: int) -> int | None:
        """Return the age at ``now`` (ms) of the oldest unread record, by its timestamp; 0 if there is no unread record.

        None if no record or timestamp is known. A producer sets the timestamp if it is not of LogAppendTime.
        """
        unread = [lag for lag in self.partitions.values() if lag.record is not None or lag.unknown is not None]
        oldest = self._oldest
        return max(0, now - oldest) if oldest is not None else None if unread else 0

    def expires_at(self, retention_ms: int | None) -> int | None:
        """Return when the oldest unread record is ``retention_ms`` old, from when brokers may delete it.

        None if there is no unread record, if no timestamp is known, or if ``retention_ms`` is None.
        """
        return None if retention_ms is None or self._oldest is None else self._oldest + retention_ms

    @property
    def _oldest(self) -> int | None:
        """The earliest known timestamp of the first unread records of the partitions."""
        records = (lag.record for lag in self.partitions.values())
        return min((each.timestamp for each in records if each is not None and each.timestamp >= 0), default=None)


def unread_positions(groups: Iterable[ConsumerGroup], topics: Mapping[str, LiveTopic]) -> frozenset[Position]:
    """Return the positions of all ``groups`` that are before the log end in ``topics``, each once."""
    return frozenset(
        (topic, partition, position) for group in groups for topic, partition, position, _ in _unread(group, topics)
    )


def group_lags(
    groups: Iterable[ConsumerGroup], topics: Mapping[str, LiveTopic], unread: UnreadRecords
) -> dict[tuple[str, str], GroupLag]:
    """Return the lag of each group in each of ``topics`` in which it has committed an offset, by group and topic.

    ``topics`` have the log extents, which must be older than the offsets of ``groups``. ``unread`` are the records at
    ``unread_positions``.
    """
    lags: dict[tuple[str, str], GroupLag] = {}
    for group in groups:
        partitions: dict[str, dict[int, PartitionLag]] = {topic: {} for topic, _ in group.offsets if topic in topics}
        for topic, partition, position, offsets in _unread(group, topics):
            at = (topic, partition, position)
            reason = unread.unknown.get(at) if at in unread.records or at in unread.unknown else "it was not read"
            partitions[topic][partition] = PartitionLag(position, offsets, unread.records.get(at), reason)
        for topic, lag in partitions.items():
            lags[group.name, topic] = GroupLag(group.name, topic, lag, group.share)
    return lags


def unread_groups(lags: Iterable[GroupLag]) -> frozenset[str]:
    """Return the groups that have certainly a record to read.

    A group with only records of an open transaction waits for its end if it reads committed. Records of a share group
    may be settled.
    """
    return frozenset(
        lag.group
        for lag in lags
        if not lag.at_most
        and any(each.record is not None and each.record.committed for each in lag.partitions.values())
    )


def _unread(group: ConsumerGroup, topics: Mapping[str, LiveTopic]) -> Iterator[tuple[str, int, int, int]]:
    """Yield the topic, the partition, the position and the number of offsets of each unread part of a log."""
    for (topic, partition), committed in group.offsets.items():
        log = topics[topic].extents.get(partition) if topic in topics else None
        if log is not None and (position := max(committed, log.start)) < log.end:
            yield topic, partition, position, log.end - position
