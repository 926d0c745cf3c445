"""Write records in interleaved transactions, and compute which records a ``read_committed`` consumer finds wrong."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from kafka.admin import NewTopic

from topicwarden.kafka.connect.clients import connected

HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS
MIXED, COMPACTED = "transactions.mixed", "transactions.compacted"
ABORTED, SKEWED, PLACED = "transactions.aborted", "transactions.skewed", "transactions.placed"
REMEMBERED = "transactions.remembered"
PLACED_KEYS = 200
KEY = uuid.UUID(int=7)
HEADERS: Mapping[str, bytes] = {"trace-id": b"t", "tenant": b"a"}
KINDS = 13
"""The number of record kinds: the first kind is valid, each other kind breaks one or two rules."""

FUTURE_KIND = 6


def write(producer: Producer, topic: str, number: int, *, keyless: bool = True) -> None:
    """Write the record with this number; the kinds repeat every ``KINDS`` records."""
    kind, now = number % KINDS, int(time.time() * 1000)
    good: bytes = b'{"n": 1}'
    values: dict[int, bytes | None] = {
        1: b"{",
        5: b'{"n": 1, "filler": "%s"}' % (b"x" * 1_500),
        9: b'{"n": -1}',
        11: None,
    }
    values[12] = b""
    keys = {2: "not a UUID", 10: None if keyless else "neither"}
    headers: dict[int, dict[str, bytes]] = {3: {}, 4: {"trace-id": b"t"}}
    stamps = {FUTURE_KIND: now + YEAR_MS, 7: now - 48 * HOUR_MS, 8: now // 1000}
    producer.produce(
        topic,
        values.get(kind, good),
        keys.get(kind, str(KEY)),
        headers=dict(headers.get(kind, HEADERS)),
        timestamp=stamps.get(kind, now),
        partition=0,
    )


def fill(servers: Sequence[str]) -> list[Producer]:
    """Fill the topics; return the producers of the transactions that stay open."""
    with connected(servers) as admin:
        accept = {"message.timestamp.after.max.ms": str(2**63 - 1)}
        compacted = {"cleanup.policy": "compact"}
        admin.create_topics(
            [
                NewTopic(
                    name,
                    3 if name in (SKEWED, PLACED) else 1,
                    1,
                    topic_configs=accept | (compacted if name == COMPACTED else {}),
                )
                for name in (MIXED, COMPACTED, ABORTED, SKEWED, PLACED, REMEMBERED)
            ]
        )
    left = []
    for topic, keyless in (MIXED, True), (COMPACTED, False):
        first, second, third, other = (transactional(servers, f"{topic}-{number}") for number in range(4))
        plain = Producer({"bootstrap.servers": ",".join(servers), "linger.ms": 0})
        send(plain, topic, range(2 * KINDS), keyless)  # committed, and more records of each kind than a finding lists
        send(first, topic, range(60), keyless)
        send(second, topic, range(1_500), keyless)  # aborted, interleaved with the other records
        send(third, topic, range(70), keyless)
        send(first, topic, range(40), keyless)
        first.commit_transaction()
        send(plain, topic, range(30), keyless)
        second.abort_transaction()
        third.commit_transaction()
        first.begin_transaction()
        send(first, topic, range(1_200), keyless)
        first.abort_transaction()
        send(other, topic, range(50), keyless)  # stays open, and keeps the last stable offset below later records
        send(plain, topic, range(20), keyless)
        left.append(other)
    aborting = transactional(servers, ABORTED)
    send(aborting, ABORTED, range(1_200), True)
    aborting.abort_transaction()
    send(Producer({"bootstrap.servers": ",".join(servers)}), ABORTED, [0] * 10, True)
    _placed(servers)
    return [*left, *_skewed(servers)]


def _placed(servers: Sequence[str]) -> None:
    """Write committed keys to their murmur2 partitions, and keys of an aborted transaction to any partition."""
    right = Producer({"bootstrap.servers": ",".join(servers), "partitioner": "murmur2"})
    for number in range(PLACED_KEYS):
        right.produce(PLACED, b"x", f"key-{number}")
    right.flush()
    aborting = transactional(servers, PLACED)
    for number in range(300):
        aborting.produce(PLACED, b"x", f"key-{number}", partition=number % 3)
    aborting.flush()
    aborting.abort_transaction()


def _skewed(servers: Sequence[str]) -> Iterator[Producer]:
    """Write committed records evenly, and many aborted and open records to one partition with one key."""
    plain = Producer({"bootstrap.servers": ",".join(servers)})
    for number in range(90):
        plain.produce(SKEWED, b"x", str(number), partition=number % 3)
    plain.flush()
    for name, finish in ("aborted", True), ("open", False):
        producer = transactional(servers, f"{SKEWED}-{name}")
        for _ in range(500):
            producer.produce(SKEWED, b"x", "hot", partition=1)
        producer.flush()
        if finish:
            producer.abort_transaction()
        else:
            yield producer


def transactional(servers: Sequence[str], name: str) -> Producer:
    """Return a producer with an open transaction."""
    producer = Producer(
        {
            "bootstrap.servers": ",".join(servers),
            "transactional.id": name,
            "transaction.timeout.ms": 900_000,
            "linger.ms": 0,
        }
    )
    producer.init_transactions()
    producer.begin_transaction()
    return producer


def send(producer: Producer, topic: str, numbers: Sequence[int], keyless: bool) -> None:
    """Write the records with these numbers, and wait until they are stored."""
    for number in numbers:
        write(producer, topic, number, keyless=keyless)
    assert producer.flush(30) == 0


@dataclass(frozen=True)
class Seen:
    """A committed record, and the largest timestamp of the records before it."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: frozenset[str]
    time: int
    highest: int | None

    @property
    def json(self) -> object:
        """Return the decoded value; raise ``ValueError`` if it is not JSON."""
        return None if self.value is None else json.loads(self.value)

    @property
    def well_formed(self) -> bool:
        return not any(wrong(self) for wrong in (_WRONG["key-schema"], _WRONG["value-schema"]))


def _no_json(one: Seen) -> bool:
    try:
        _ = one.json
    except ValueError:
        return True
    return False


def _no_uuid(one: Seen) -> bool:
    return one.key is not None and len(one.key) != len(str(KEY))


_WRONG: Final[dict[str, Callable[[Seen], bool]]] = {
    "header": lambda one: not one.headers >= set(HEADERS),
    "key-schema": _no_uuid,
    "value-schema": _no_json,
    "record-size": lambda one: len(one.key or b"") + len(one.value or b"") > 1_024,
    "timestamp-future": lambda one: one.time > time.time() * 1000 + 2 * HOUR_MS,
    "timestamp-late": lambda one: one.highest is not None and one.highest - one.time > HOUR_MS,
    "timestamp-unit": lambda one: one.time < 100_000_000_000,
    "expression": lambda one: one.well_formed and one.json == {"n": -1},
    "null-key": lambda one: one.key is None,
    "empty-value": lambda one: one.value == b"",
}


def wrong(servers: Sequence[str], topic: str) -> dict[str, list[int]]:
    """Return, by check, the offsets in partition 0 of the committed records that break its rule."""
    seen = list(_committed(servers, topic))
    return {check: [one.offset for one in seen if breaks(one)] for check, breaks in _WRONG.items()}


def _committed(servers: Sequence[str], topic: str) -> Iterator[Seen]:
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(servers),
            "group.id": "nobody",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    highest: int | None = None
    try:
        while (message := consumer.poll(30)) is not None:
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                return
            one = _seen(message, highest)
            highest = one.time if highest is None else max(highest, one.time)
            yield one
    finally:
        consumer.close()
    raise AssertionError("the broker did not answer")


def _seen(message: Message, highest: int | None) -> Seen:
    names = frozenset(str(header[0]) for header in message.headers() or ())
    offset = message.offset()
    assert offset is not None
    return Seen(offset, message.key(), message.value(), names, message.timestamp()[1], highest)
