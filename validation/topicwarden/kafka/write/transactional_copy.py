"""Append copies of records to a topic, exactly once: copies and progress are of the same transactions.

Each transaction appends records to the target and commits, for a consumer group without members, the next offset of
each source partition (KIP-98, consume-transform-produce). A process that is killed leaves an open transaction. The next
one with the same transactional id aborts it and fences a process that still runs, before it reads the progress.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from topicwarden.kafka.connect.clients import new_producer
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import denied_permission
from topicwarden.kafka.read.records_at_offsets import CopiedSoFar, StoredRecord
from topicwarden.model.field_types import FUNCTION
from topicwarden.model.message_text import quoted
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


RepairFunction: TypeAlias = Callable[[StoredRecord], StoredRecord | None]
"""A function that returns the record to copy; None for a record that is not copied."""

_EXPECTED = "expected a tuple (key, value, headers) or None: bytes or None, bytes or None, [(text, bytes), …]"


def unchanged(record: StoredRecord) -> StoredRecord:
    """Return the record itself: nothing is repaired."""
    return record


def repair_function(name: str, root: Path) -> RepairFunction:
    """Return the function ``module:function`` of the project folder ``root``, or of the Python path.

    The function receives key, value and headers, and returns them as they are to be copied, or None. A message about it
    never contains a record. Raises Refusal if it cannot be imported, and, when it is called, if it fails.
    """
    if not re.match(FUNCTION, name):
        raise Refusal(f"--with: expected module:function, got {quoted(name)}")
    function = _imported(name, root)

    def repair(record: StoredRecord) -> StoredRecord | None:
        try:
            result = function(record.key, record.value, list(record.headers))
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the user's code; its message may contain a record
            # `from None`: a traceback would show the record.
            raise Refusal(f"{record.location}: {name} failed with {type(error).__name__}") from None
        return None if result is None else _repaired(record, result, name)

    return repair


def _imported(name: str, root: Path) -> Callable[..., Any]:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise Refusal(f"--with: the import of {module_name} failed with {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(root))
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if not callable(function):
        raise Refusal(f"--with: {module_name} has no function {quoted(attribute)}")
    return function


def _repaired(record: StoredRecord, result: object, name: str) -> StoredRecord:
    if not isinstance(result, tuple) or len(result) != len(("key", "value", "headers")):
        raise Refusal(f"{record.location}: {name} returned {type(result).__name__}: {_EXPECTED}")
    key, value, headers = result
    valid = all(part is None or isinstance(part, bytes) for part in (key, value)) and isinstance(headers, list | tuple)
    if not valid or not all(map(_is_header, headers)):
        raise Refusal(f"{record.location}: {name} returned another type: {_EXPECTED}")
    return replace(record, key=key, value=value, headers=tuple((text, content) for text, content in headers))


def _is_header(header: object) -> bool:
    match header:
        case (str() as name, bytes() | None):
            return not any(0xD800 <= ord(character) < 0xE000 for character in name)  # surrogates have no UTF-8
    return False
