"""Write records that are made to harm their readers, each with a text that no output may contain."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.support.clients import commit
from tests.support.hostile_texts import HOSTILE
from topicwarden.kafka.write.config_admin import connected

SECRET: Final = "s3cr3t-of-a-record"
MIB: Final = 1 << 20
FILES: Final = {
    "hostile/hostile.json.yaml": """\
{owner: "<script>alert(1)</script>", description: "\\e[31mred\\n::error::planted", partitions: 3, replication_factor: 1,
 config: {max.message.bytes: 20MiB}, contents: {
 key: {format: string}, value: {format: json, schema: any.json}, headers: {required: [trace-id]},
 expressions: [{id: small, require: 'size(value) < 100', message: "::error::planted </script>"}]}}
""",
    "hostile/any.json": '{"type": "object", "additionalProperties": {"type": "string"}}',
    "hostile/hostile.avro.yaml": """\
{owner: team, partitions: 1, replication_factor: 1, config: {max.message.bytes: 20MiB}, contents: {
 value: {format: avro, schema: node.avsc}}}
""",
    "hostile/node.avsc": '{"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}',
    "hostile/hostile.keys.yaml": """\
{owner: team, partitions: 2, replication_factor: 1, config: {cleanup.policy: compact, max.message.bytes: 20MiB},
 contents: {key: {partitioner: murmur2}}}
""",
    "hostile/hostile.bombs.yaml": """\
{owner: team, partitions: 2, replication_factor: 1, config: {max.message.bytes: 20MiB}, contents: {
 value: {format: json}}}
""",
    "neighbour.yaml": "{owner: team, partitions: 1, replication_factor: 1, contents: {value: {format: json}}}\n",
}
"""The declarations, by path in ``topics/``. The texts in them are hostile, too."""

_TOPICS: Final = {"hostile.json": 3, "hostile.avro": 1, "hostile.keys": 2, "hostile.bombs": 2, "neighbour": 1}


@dataclass(frozen=True)
class Hostile:
    """A record by its parts."""

    value: bytes | None = b"{}"
    key: bytes | None = b"k"
    headers: list[tuple[str, str | bytes | None]] = field(default_factory=list)


def _deep(chance: random.Random) -> Hostile:
    depth = chance.choice((999, 1_001, 100_000))
    return Hostile(b'{"a":' * depth + b'"' + SECRET.encode() + b'"' + b"}" * depth)


def _text(chance: random.Random) -> Hostile:
    text = chance.choice(HOSTILE).encode("utf-8", "surrogatepass") + SECRET.encode()
    return Hostile(b'{"' + text + b'": 1}', text, [(chance.choice(HOSTILE).encode("ascii", "ignore").decode(), text)])


def _bytes(chance: random.Random) -> Hostile:
    return Hostile(chance.randbytes(chance.randrange(200)), chance.randbytes(chance.randrange(200)))


KINDS: Final[dict[str, Callable[[random.Random], Hostile]]] = {
    "a key of 1 MB": lambda chance: Hostile(key=SECRET.encode() + chance.randbytes(MIB)),
    "a value of 4 MB": lambda chance: Hostile(b'{"a": "' + b"x" * 4 * MIB + b'"}'),
    "invalid UTF-8": lambda chance: Hostile(b'{"\xff\xfe": "\xc0\x80"}', b"\xff\xfe\xed\xa0\x80"),
    "deep JSON": _deep,
    "10,000 headers": lambda chance: Hostile(headers=[(f"h{number}", b"x") for number in range(10_000)]),
    "one header 10,000 times": lambda chance: Hostile(headers=[("trace-id", None)] * 10_000),
    "10,000 properties": lambda chance: Hostile(
        b"{" + b",".join(b'"%s%d": %d' % (SECRET.encode(), number, number) for number in range(10_000)) + b"}"
    ),
    "a number of 100,000 digits": lambda chance: Hostile(b'{"a": ' + b"9" * 100_000 + b"}"),
    "hostile texts": _text,
    "random bytes": _bytes,
    "a long chain in Avro": lambda chance: Hostile(b"\x02" * chance.choice((900, 100_000)) + b"\x00"),
    "a huge length in Avro": lambda chance: Hostile(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + SECRET.encode()),
    "Confluent's frame": lambda chance: Hostile(b"\0" + struct.pack(">i", chance.randrange(-(2**31), 2**31)) + b"x"),
    "nothing": lambda chance: Hostile(None, None),
    "an empty key and value": lambda chance: Hostile(b"", b""),
}


def fill(servers: Sequence[str], count: int, seed: int, bomb_mib: int) -> int:
    """Write ``count`` hostile records to random topics, and bombs of ``bomb_mib``; return the number of all records.

    Every kind is written at least once.
    """
    chance = random.Random(seed)
    with connected(servers) as admin:
        for name, partitions in _TOPICS.items():
            settings = {"max.message.bytes": str(20 * MIB)}
            settings |= {"cleanup.policy": "compact"} if name == "hostile.keys" else {}
            admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    kinds = [*KINDS, *chance.choices(list(KINDS), k=max(0, count - len(KINDS)))]
    written = 0
    producer = _producer(servers)
    for kind in kinds:
        record = KINDS[kind](chance)
        topic = chance.choice(("hostile.json", "hostile.avro", "hostile.keys"))
        key = record.key if topic != "hostile.keys" or record.key is not None else b"k"
        producer.produce(topic, record.value, key, headers=record.headers)
        written += 1
        producer.flush(60) if written % 50 == 0 else producer.poll(0)
    for value in (b"{}", SECRET.encode(), b"{}"):
        producer.produce("neighbour", value)
    producer.flush(60)
    written += 3 + _bombs(servers, bomb_mib)
    for number, text in enumerate(HOSTILE):
        name = text.encode("utf-8", "ignore").decode().replace("\0", "") + str(number)
        commit(servers, name, {("hostile.json", 0): 0})
    return written


def _producer(servers: Sequence[str], **more: Any) -> Producer:
    return Producer(
        {"bootstrap.servers": ",".join(servers), "message.max.bytes": 1_000_000_000, "log_level": 0, **more}
    )


def _bombs(servers: Sequence[str], mib: int) -> int:
    """Write one record of ``mib`` MiB, and a batch of as many records of 1 MiB; both are small on the broker."""
    producer = _producer(servers, **{"compression.type": "zstd", "linger.ms": 2_000, "batch.size": 2_000_000_000})
    producer.produce("hostile.bombs", bytes(mib * MIB), partition=0)
    producer.flush(120)
    zeros = bytes(MIB)
    for _ in range(mib):
        producer.produce("hostile.bombs", zeros, partition=1)
    producer.flush(120)
    producer.produce("hostile.bombs", b"{}", partition=0)
    producer.flush(60)
    return mib + 2
