"""Append copies of records to a topic, exactly once: copies and progress are of the same transactions.

Each transaction appends records to the target and commits, for a consumer group without members, the next offset of
each source partition (KIP-98, consume-transform-produce). A process that is killed leaves an open transaction. The next
one with the same transactional id aborts it and fences a process that still runs, before it reads the progress.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from topicwarden.kafka.connect.clients import new_producer
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_error import denied_permission
from topicwarden.kafka.read.records_at_offsets import CopiedSoFar
from topicwarden.model.problem import Refusal

_TRANSACTION_MS: Final = 60_000
_DELIVERY_MS: Final = 45_000
"""A record that is not acknowledged in this time fails; less than a transaction may last."""
_MOST_REQUEST: Final = 256 << 20
"""The client refuses no record by its size: brokers do, by the settings of the target."""


@dataclass(frozen=True)
class RecordCopy:
    """A record to append to ``partition`` of the target. ``location`` is where it comes from, for messages."""

    location: str
    partition: int
    timestamp: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes], ...] = field(repr=False)


class TransactionalCopy:
    """An open transactional producer that has aborted what an earlier process left; see ``open_copy``."""

    def __init__(self, producer: KafkaProducer, group: str, target: str) -> None:
        self._producer, self._group, self._target = producer, group, target

    def write(self, copies: Sequence[RecordCopy], source: str, progress: Mapping[int, CopiedSoFar]) -> None:
        """Append ``copies`` and record ``progress`` in the partitions of ``source``, in one transaction.

        Raises Refusal if any of it fails; then the transaction is aborted, and nothing of it is committed. After an
        answer to the commit was lost, only the next ``open_copy`` knows whether it is.
        """
        self._producer.begin_transaction()
        try:
            self._send(copies)
            offsets = {
                TopicPartition(source, partition): OffsetAndMetadata(done.offset, str(done.records), -1)
                for partition, done in progress.items()
            }
            self._producer.send_offsets_to_transaction(offsets, self._group)
        except BaseException:
            with suppress(KafkaError):
                self._producer.abort_transaction()
            raise
        self._producer.commit_transaction()

    def _send(self, copies: Sequence[RecordCopy]) -> None:
        sent: list[tuple[RecordCopy, Any]] = []
        for copy in copies:
            future = self._producer.send(
                self._target,
                value=copy.value,
                key=copy.key,
                headers=list(copy.headers),
                partition=copy.partition,
                timestamp_ms=None if copy.timestamp < 0 else copy.timestamp,
            )
            sent.append((copy, future))
        self._producer.flush()
        for copy, future in sent:
            try:
                future.get(timeout=_DELIVERY_MS / 1000)
            except KafkaError as error:
                reason = _reason(error, type(error).__name__)
                raise Refusal(
                    f"{copy.location}: {self._target} does not take the record: {reason}; "
                    "nothing of this transaction is committed"
                ) from error


@contextmanager
def open_copy(connection: Connection, name: str, target: str) -> Iterator[TransactionalCopy]:
    """Yield a copy to ``target`` whose transactional id and progress group are ``name``.

    When it is yielded, no transaction with this id is open, and earlier processes with this id can commit nothing.
    Raises Refusal for an error of Kafka.
    """
    settings = {
        "transactional_id": name,
        "transaction_timeout_ms": _TRANSACTION_MS,
        "delivery_timeout_ms": _DELIVERY_MS,
        "max_request_size": _MOST_REQUEST,
        "linger_ms": 5,
    }
    try:
        producer = new_producer(connection, **settings)
    except (KafkaError, OSError, ValueError) as error:
        raise Refusal(f"no producer can be opened: {_text(error)}") from error
    try:
        producer.init_transactions()
        yield TransactionalCopy(producer, name, target)
    except KafkaError as error:
        raise Refusal(
            f"the copy to {target} stopped: {_text(error)}; run the same command again to continue"
        ) from error
    finally:
        with suppress(KafkaError, OSError, RuntimeError):
            producer.close(timeout=5)


def _text(error: Exception) -> str:
    return _reason(error, f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0])


def _reason(error: Exception, otherwise: str) -> str:
    permission = denied_permission(error, on_topics="Write")
    return f"this user lacks {permission}" if permission else otherwise
