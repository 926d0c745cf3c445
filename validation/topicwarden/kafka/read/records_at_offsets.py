"""Whole committed records at given offsets, and how far a redrive has copied them. Commits nothing.

A redrive records its progress as the offsets of a consumer group without members. Its name begins with
``PROGRESS_GROUP``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, OffsetOutOfRangeError

from topicwarden.kafka.connect.clients import new_consumer
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import denied_permission, first_line
from topicwarden.model.problem import Refusal

PROGRESS_GROUP: Final = "topicwarden-redrive-"
"""The start of the names of groups that record the progress of a redrive, and of its transactional ids."""

_NEAR: Final = 1_000
"""Offsets that are closer than this are read in one go."""
_POLL_MS: Final = 500
_FETCHED_BYTES: Final = 4 << 20
_SILENT_S: Final = 60.0
"""The time without any record or progress after which a read is given up."""


@dataclass(frozen=True)
class StoredRecord:
    """A record of a topic. ``timestamp`` is in milliseconds, -1 for none. ``repr`` shows no payload."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = field(repr=False, default=())

    @property
    def location(self) -> str:
        """The topic, partition and offset, for messages."""
        return f"{self.topic}, partition {self.partition}, offset {self.offset}"

    @property
    def size(self) -> int:
        """The bytes of the key and the value, uncompressed."""
        return len(self.key or b"") + len(self.value or b"")


@dataclass(frozen=True)
class CopiedSoFar:
    """The progress in one partition: all records of the redrive before ``offset`` are done, and ``records`` of them."""

    offset: int
    records: int


class CommittedReader:
    """An open consumer that reads committed records; see ``open_reader``."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer

    def records(self, topic: str, offsets: Mapping[int, Collection[int]]) -> Iterator[StoredRecord]:
        """Yield the records at ``offsets``, by partition and offset. Those that are gone are left out.

        Raises Refusal if the leader does not return any record for a minute.
        """
        for partition, requested in sorted(offsets.items()):
            self._consumer.assign([TopicPartition(topic, partition)])
            yield from self._of_partition(TopicPartition(topic, partition), deque(sorted(set(requested))))

    def _of_partition(self, at: TopicPartition, waiting: deque[int]) -> Iterator[StoredRecord]:
        position, deadline = -1, time.monotonic() + _SILENT_S
        while waiting:
            if time.monotonic() > deadline:
                raise Refusal(f"{at.topic}, partition {at.partition}: no record at offset {waiting[0]} for a minute")
            if not 0 <= waiting[0] - position <= _NEAR or position < 0:
                position = waiting[0]
                self._consumer.seek(at, position)
            try:
                polled = self._consumer.poll(_POLL_MS)
            except OffsetOutOfRangeError:  # before the start, or after the end of a log that was truncated
                _drop_before(waiting, self._consumer.beginning_offsets([at])[at])
                position = -1
                time.sleep(_POLL_MS / 1_000)
                continue
            for record in polled.get(at, ()):
                _drop_before(waiting, record.offset)
                if waiting and waiting[0] == record.offset:
                    waiting.popleft()
                    yield _stored(record)
            reached = self._consumer.position(at)
            if reached > position:
                position, deadline = reached, time.monotonic() + _SILENT_S
                _drop_before(waiting, reached)


def _drop_before(waiting: deque[int], offset: int) -> None:
    while waiting and waiting[0] < offset:
        waiting.popleft()


def _stored(record: Any) -> StoredRecord:
    return StoredRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        tuple(record.headers or ()),
    )


@contextmanager
def open_reader(connection: Connection) -> Iterator[CommittedReader]:
    """Yield a reader of committed records; errors of Kafka become a ``Refusal``. It has no group."""
    with _open_consumer(connection, {"isolation_level": "read_committed"}) as consumer:
        yield CommittedReader(consumer)


def read_progress(
    connection: Connection, group: str, topic: str, partitions: Iterable[int], *, settled: bool
) -> dict[int, CopiedSoFar]:
    """Return how far a redrive has copied each partition; none for a partition that it has not begun.

    With ``settled``, wait for the offsets of a transaction that is open or ends now (KIP-447). Else such a transaction
    counts as not committed. A Kafka error becomes a ``Refusal``.
    """
    isolation = "read_committed" if settled else "read_uncommitted"
    found = {}
    with _open_consumer(connection, {"group_id": group, "isolation_level": isolation}) as consumer:
        for partition in sorted(partitions):
            at = consumer.committed(TopicPartition(topic, partition), metadata=True)
            if at is not None and at.offset >= 0:
                found[partition] = CopiedSoFar(at.offset, _copied(at.metadata, group, partition))
    return found


def _copied(metadata: str, group: str, partition: int) -> int:
    """Return the number of copied records, which a redrive commits with its progress."""
    if not metadata.isascii() or not metadata.isdigit():
        raise Refusal(
            f"the progress of partition {partition} in the group {group} is not of a redrive: other programs have "
            "committed offsets; use another target"
        )
    return int(metadata)


@contextmanager
def _open_consumer(connection: Connection, settings: Mapping[str, str]) -> Iterator[KafkaConsumer]:
    own: dict[str, Any] = {
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "max_partition_fetch_bytes": _FETCHED_BYTES,
    }
    try:
        consumer = new_consumer(connection, **own, **settings)
    except (KafkaError, OSError, ValueError) as error:
        raise Refusal(f"the records cannot be read: {_text(error)}") from error
    try:
        yield consumer
    except KafkaError as error:
        raise Refusal(f"the records cannot be read: {_text(error)}") from error
    except UnicodeDecodeError as error:
        raise Refusal("the name of a header is not UTF-8: this record cannot be copied") from error
    finally:
        with suppress(KafkaError, OSError, RuntimeError):
            consumer.close(autocommit=False)


def _text(error: Exception) -> str:
    permission = denied_permission(error, on_topics="Read")
    return f"this user lacks {permission}" if permission else first_line(error)
