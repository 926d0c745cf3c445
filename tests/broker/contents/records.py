"""Write records that follow their contract, and records that each break the contract in a different way."""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer
from kafka.admin import NewTopic

from topicwarden.kafka.connect.clients import connected

KEY = str(uuid.UUID(int=7))
TRACED: Mapping[str, bytes] = {"trace-id": b"t-1"}
SECRET = "s3cr3t"
"""A text in every malformed record. It must not appear in any output."""

DAY_MS = 86_400_000
TOPICS = ("json", "avro", "protobuf", "plain", "aborted", "appended", "units", "poison", "group")


def fill(servers: Sequence[str]) -> None:
    with connected(servers) as admin:
        settings = {"plain": {"cleanup.policy": "compact"}, "appended": {"message.timestamp.type": "LogAppendTime"}}
        accept = {"message.timestamp.after.max.ms": str(2**63 - 1)}
        admin.create_topics(
            [NewTopic(f"contents.{name}", 1, 1, topic_configs={**settings.get(name, {}), **accept}) for name in TOPICS]
        )
    with writing(servers) as producer:
        _json(producer)
        _avro(producer)
        _protobuf(producer)
        _poison(producer)
        for key, value in ((b"a", b"\0\0\0\1"), (b"b", b"\0\0\1"), (b"\xff\xfe", b"\0\0\0\2"), (b"a", None)):
            producer.produce("contents.plain", value, key)
        producer.produce("contents.appended", b"x")
        for instant in (0, 1, 1_000, 1_000_000):  # milliseconds, seconds, microseconds and nanoseconds
            now = int(time.time() * 1000)
            stamp = {0: now, 1: now // 1000, 1_000: now * 1_000, 1_000_000: now * 1_000_000}[instant]
            producer.produce("contents.units", b"x", timestamp=stamp)
    _aborted(servers)


def _json(producer: Producer) -> None:
    def send(value: bytes | None, key: str = KEY, headers: Mapping[str, bytes] = TRACED, ago: int = 0) -> None:
        stamp = int(time.time() * 1000) - ago
        producer.produce("contents.json", value, key, headers=dict(headers), timestamp=stamp)

    good = b'{"id": 1, "amount": 2.5, "lines": [{"sku": "a"}]}'
    send(good)  # 0
    send(None)  # 1: a tombstone
    send(f'{{"id": 1, "amount": "{SECRET}"}}'.encode())  # 2: wrong type
    send(f'{{"id": 1, "{SECRET}": 1}}'.encode())  # 3: without amount, with an unknown property
    send(f'{{"id": 1, "amount": 1, "{SECRET}": 1}}'.encode())  # 4: an extra property
    send(f'{{"id": {SECRET}'.encode())  # 5: not JSON
    send(b"")  # 6: empty
    send(b'{"id": 1, "amount": 1, "lines": [{"sku": 5}]}')  # 7: an error in a nested value
    send(good, key=SECRET)  # 8: not a UUID
    send(good, headers={})  # 9: no header
    send(None, headers={"other": b""})  # 10: a tombstone without the header
    send(b'{"id": 1, "amount": -1}')  # 11: violates an expression
    send(good, headers={"trace-id": SECRET.encode()})  # 12: violates another expression
    send(good, ago=2 * DAY_MS)  # 13: late
    send(good, ago=-2 * DAY_MS)  # 14: in the future
    send(b'{"id": 1, "amount": 1, "lines": [%s]}' % b",".join([b'{"sku": "x"}'] * 100))  # 15: large, and also late
    send(good + b"}")  # 16: more than one value


def _avro(producer: Producer) -> None:
    def payment(amount: float) -> bytes:
        return b"\x02" + struct.pack("<d", amount) + b"\x00"

    key = struct.pack(">q", 5)
    producer.produce("contents.avro", payment(1.5), key)  # 0
    producer.produce("contents.avro", None, key)  # 1: a tombstone
    producer.produce("contents.avro", payment(1.5)[:-3], key)  # 2: too short
    producer.produce("contents.avro", payment(1.5) + b"\0", key)  # 3: too long
    producer.produce("contents.avro", b"\x02" + struct.pack("<d", 1.0) + b"\x09", key)  # 4: unknown union branch
    producer.produce("contents.avro", payment(1.5), b"12345")  # 5: a key of five bytes
    producer.produce("contents.avro", payment(-1.0), key)  # 6: violates an expression
    huge = b"\x02" + struct.pack("<d", 1.0) + b"\x02" + b"\xfe\xff\xff\xff\x0f" + b"x"
    producer.produce("contents.avro", huge, key)  # 7: a declared string length of two billion characters


def _protobuf(producer: Producer) -> None:
    def payment(amount: float, counts: bytes = b"\x22\x05\x0a\x01a\x10\x01") -> bytes:
        return b"\x08\x07" + b"\x11" + struct.pack("<d", amount) + counts

    producer.produce("contents.protobuf", payment(1.5), "k")  # 0
    producer.produce("contents.protobuf", None, "k")  # 1: a tombstone
    producer.produce("contents.protobuf", payment(1.5)[:-2], "k")  # 2: cut off
    producer.produce("contents.protobuf", payment(-1.5), "k")  # 3: violates an expression
    producer.produce("contents.protobuf", payment(1.5) + b"\x50\x01", "k")  # 4: a field of a newer schema
    producer.produce("contents.protobuf", payment(1.5, b""), "k")  # 5: the expression cannot be evaluated


def _poison(producer: Producer) -> None:
    """Write records that are valid but exceed the limits, other records, and records with a proto2 group."""
    node, leaf = b"\x02", b"\x00"
    producer.produce("contents.poison", b"{}", leaf)  # 0
    producer.produce("contents.poison", b"[" * 1_001 + b"]" * 1_001, leaf)  # 1: too deep for a schema
    producer.produce("contents.poison", b'{"below":' * 990 + b"{}" + b"}" * 990, leaf)  # 2: deep recursion
    producer.produce("contents.poison", b"{}", node * 200_000 + leaf)  # 3: a key of 200,000 nodes
    producer.produce("contents.poison", f'{{"{SECRET}": 1}}'.encode(), leaf)  # 4: an extra property
    producer.produce("contents.poison", b"[" * 1_001, leaf)  # 5: not JSON
    producer.produce("contents.poison", b"[" + b"1" * 1_001 + b"]", leaf)  # 6: too many digits
    producer.produce("contents.group", b"\x0b\x10\x07\x0c")  # 0
    producer.produce("contents.group", b"\x0b\x0c")  # 1: a required field is missing
    producer.produce("contents.group", b"\x0c")  # 2: an end tag without a group


def _aborted(servers: Sequence[str]) -> None:
    """Write two malformed records: the first is aborted, the second, at a much later offset, is committed.

    A third record stays in an open transaction.
    """
    settings = {"bootstrap.servers": ",".join(servers), "linger.ms": 0}
    producer = Producer({**settings, "transactional.id": "contents"})
    producer.init_transactions()
    for value, commit in ((b"{", False), (b"{}", True), (b"}", True)):
        producer.begin_transaction()
        producer.produce("contents.aborted", value)
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()


@contextmanager
def writing(servers: Sequence[str]) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": ",".join(servers), "acks": "all"})
    yield producer
    assert producer.flush(30) == 0
