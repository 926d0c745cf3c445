"""Draw what else a topic has besides its JSON values: encodings, keys, headers, clocks, partitioners and producers."""

from __future__ import annotations

import io
import json
import random
import struct
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import avro.io
import avro.schema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.campaigns.inference.hidden_contract import MARK, Hidden, drawn_contract, json_bytes
from topicwarden.audit.inference.inferred_rule import RulePath
from topicwarden.audit.inference.inferred_schema import DIALECT

Register: TypeAlias = Callable[[str, str, str], int]
"""Registers a schema: a subject, the text of the schema and its type; returns the id."""

SEVERAL, PLAIN, ONE = "several producers", "no idempotence", "one producer"
"""Who writes: several idempotent producers, some that the brokers do not remember, or a single one."""
PARTITIONERS: Final = {"murmur2": "murmur2_random", "crc32": "consistent_random", "fnv1a": "fnv1a_random"}
"""The partitioners of librdkafka by their names in ``contents:``."""

_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True)
class HiddenEncoding:
    """The bytes of a key or a value: how they are drawn, the settings to find, and the contract of JSON values."""

    draw: Callable[[random.Random], bytes]
    settings: Mapping[str, Any]
    contract: Hidden | None = None


@dataclass(frozen=True)
class DrawnRecord:
    """A record; ``timestamp`` 0 means the time of the producer."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]
    timestamp: int


@dataclass(frozen=True)
class HiddenTopic:
    """A topic with the rules that an inference should find: settings below ``contents:``, and those of JSON values."""

    name: str
    key: HiddenEncoding
    value: HiddenEncoding
    key_presence: float
    value_presence: float
    headers: Mapping[str, float]
    hours: tuple[float, float]
    appended: bool
    producers: str
    partitions: int
    partitioner: str
    settings: Mapping[RulePath, Any] = field(default_factory=dict)

    @property
    def configuration(self) -> dict[str, str]:
        """The settings of the topic on the brokers."""
        after = {"message.timestamp.after.max.ms": str(2**63 - 1)}
        return after | ({"message.timestamp.type": "LogAppendTime"} if self.appended else {})

    @property
    def contract(self) -> Hidden | None:
        """The contract of JSON values that are not in a registry's wire format."""
        return self.value.contract

    def draw(self, source: random.Random) -> DrawnRecord:
        headers: list[tuple[str, str | bytes | None]] = [
            (name, f"{MARK}-{source.random()}") for name, share in self.headers.items() if source.random() < share
        ]
        if source.random() < 0.1:
            headers.append((f"{MARK}{source.randrange(10**6, 10**7)}", MARK))  # a name that is data
        early, late = self.hours
        shift = int(source.uniform(early, late) * _HOUR)
        return DrawnRecord(
            self.key.draw(source) if source.random() < self.key_presence else None,
            self.value.draw(source) if source.random() < self.value_presence else None,
            headers,
            int(time.time() * 1000) + shift if early < late else 0,
        )


def drawn_topic(source: random.Random, name: str, register: Register | None) -> HiddenTopic:
    """Return a topic with a hidden contract. ``register`` None: no value is in a registry's wire format."""
    keyed = source.choice([1.0, 1.0, 1.0, 0.7, 0.0])
    key, partitioner = _key(source), source.choice([*PARTITIONERS])
    headers = {f"{part}-id": share for part in ("trace", "tenant", "größe") if (share := source.choice([0.0, 0.3, 1]))}
    hours = source.choice([(0.0, 0.0), (0.0, 0.0), (-20.0, 0.0), (-80.0, 0.0), (0.0, 0.5), (0.0, 12.0)])
    appended = source.random() < 0.1
    required = sorted(header for header, share in headers.items() if share == 1)
    rules: dict[RulePath, Any] = {("timestamps", "type"): "LogAppendTime" if appended else "CreateTime"}
    if required:
        rules["headers", "required"] = tuple(required)
    if keyed == 1.0:
        rules["key", "required"] = True
    if keyed:
        rules |= {("key", setting): value for setting, value in key.settings.items()}
    partitions = source.choice([1, 2, 3])
    if keyed and partitions > 1 and key.settings.get("format") in ("uuid", "long", "json"):  # many keys, none empty
        rules["key", "partitioner"] = partitioner
    value = _value(source, name, register)
    rules |= {("value", setting): each for setting, each in value.settings.items()}
    if not appended:
        rules["timestamps", "max_ahead"] = _DAY if hours[1] > 1 else _HOUR
        if hours[0] > -24:
            rules["timestamps", "max_late"] = _DAY
    return HiddenTopic(
        name,
        key,
        value,
        key_presence=keyed,
        value_presence=source.choice([1.0, 1.0, 0.95]),
        headers=headers,
        hours=hours,
        appended=appended,
        producers=source.choice([SEVERAL, SEVERAL, SEVERAL, SEVERAL, PLAIN, ONE]),
        partitions=partitions,
        partitioner=partitioner,
        settings=rules,
    )


def _value(source: random.Random, name: str, register: Register | None) -> HiddenEncoding:
    kinds: list[Callable[[], HiddenEncoding]] = [*[lambda: _json(source)] * 12]
    kinds += [_text, _int, _long, _uuid, _bytes]
    if register is not None:
        kinds += [
            lambda: _avro(source, name, register),
            lambda: _protobuf(source, name, register),
            lambda: _registered_json(source, name, register),
        ] * 2
    return source.choice(kinds)()


def _key(source: random.Random) -> HiddenEncoding:
    objects = HiddenEncoding(
        lambda random: json_bytes({"id": f"{MARK}{random.randrange(10**6)}"}, random), {"format": "json"}
    )
    few = HiddenEncoding(lambda random: f"{MARK} {random.randrange(8)}".encode(), {"format": "string"})
    kinds: list[Callable[[], HiddenEncoding]] = [_key_text, _key_text, _uuid, _int, _long, _bytes]
    kinds += [lambda: objects, lambda: few]
    return source.choice(kinds)()


def _text() -> HiddenEncoding:
    encoding = _key_text()
    return replace(encoding, draw=lambda random: b"" if random.random() < 0.02 else encoding.draw(random))


def _key_text() -> HiddenEncoding:
    """Return texts that are never empty: librdkafka puts an empty key into any partition."""

    def draw(random: random.Random) -> bytes:
        texts = [f"{MARK} {random.randrange(10**6)}", f"{MARK}ü\U0001f600{random.randrange(10**4)}", f"{MARK}\t"]
        return random.choice(texts).encode()

    return HiddenEncoding(draw, {"format": "string"})


def _uuid() -> HiddenEncoding:
    return HiddenEncoding(lambda random: str(uuid.UUID(int=random.getrandbits(128))).encode(), {"format": "uuid"})


def _int() -> HiddenEncoding:
    return HiddenEncoding(lambda random: struct.pack(">i", random.randrange(-(2**31), 2**31)), {"format": "int"})


def _long() -> HiddenEncoding:
    return HiddenEncoding(lambda random: struct.pack(">q", random.randrange(10**6)), {"format": "long"})


def _bytes() -> HiddenEncoding:
    return HiddenEncoding(lambda random: random.randbytes(random.randrange(20)) + MARK.encode(), {})


def _json(source: random.Random) -> HiddenEncoding:
    contract = drawn_contract(source)
    return HiddenEncoding(lambda random: json_bytes(contract.draw(random), random), {"format": "json"}, contract)


def _wire(ids: Sequence[int], draw: Callable[[random.Random], bytes], format: str) -> HiddenEncoding:
    def framed(random: random.Random) -> bytes:
        return b"\0" + struct.pack(">I", random.choice(ids)) + draw(random)

    return HiddenEncoding(framed, {"format": format, "registry": True})


def _registered_json(source: random.Random, name: str, register: Register) -> HiddenEncoding:
    contract = drawn_contract(source)
    ids = [register(f"{name}-value", json.dumps({"$schema": DIALECT, "type": "object"}), "JSON")]
    return _wire(ids, lambda random: json_bytes(contract.draw(random), random), "json")


_AVRO: Final[Mapping[str, tuple[Any, Callable[[random.Random], Any]]]] = {
    "text": ("string", lambda random: random.choice(["", f"{MARK}é\U0001f600"])),
    "number": ("long", lambda random: random.choice([-(2**63), 2**63 - 1, random.randrange(10**9)])),
    "share": ("double", lambda random: random.choice([5e-324, 1.7976931348623157e308, random.random()])),
    "open": ("boolean", lambda random: random.random() < 0.5),
    "note": (["null", "string"], lambda random: random.choice([None, MARK])),
    "state": (
        {"type": "enum", "name": "State", "symbols": ["NEW", "OLD"]},
        lambda random: random.choice(["NEW", "OLD"]),
    ),
    "parts": ({"type": "array", "items": "bytes"}, lambda random: [random.randbytes(3)] * random.randrange(3)),
}


def _avro(source: random.Random, name: str, register: Register) -> HiddenEncoding:
    """Return records of a drawn schema in one or two versions, which have the same encoding."""
    names = source.sample([*_AVRO], source.randint(1, 5))
    schema = {"type": "record", "name": "R", "fields": [{"name": each, "type": _AVRO[each][0]} for each in names]}
    versions = [schema, {**schema, "doc": "more"}][: source.randint(1, 2)]
    ids = [register(f"{name}-value", json.dumps(each), "AVRO") for each in versions]
    writer = avro.io.DatumWriter(avro.schema.parse(json.dumps(schema)))

    def draw(random: random.Random) -> bytes:
        data = io.BytesIO()
        writer.write({each: _AVRO[each][1](random) for each in names}, avro.io.BinaryEncoder(data))
        return data.getvalue()

    return _wire(ids, draw, "avro")


_PROTOBUF: Final[Mapping[str, Callable[[random.Random], Any]]] = {
    "string": lambda random: random.choice(["", f"{MARK}é\U0001f600"]),
    "int64": lambda random: random.choice([-(2**63), 2**63 - 1, random.randrange(10**9)]),
    "double": lambda random: random.choice([5e-324, 1.7976931348623157e308, random.random()]),
    "bool": lambda random: random.random() < 0.5,
    "bytes": lambda random: random.randbytes(random.randrange(4)),
}


def _protobuf(source: random.Random, name: str, register: Register) -> HiddenEncoding:
    types = source.choices([*_PROTOBUF], k=source.randint(1, 5))
    lines = "".join(f"  {each} f{number} = {number};\n" for number, each in enumerate(types, 1))
    ids = [register(f"{name}-value", f'syntax = "proto3";\nmessage M {{\n{lines}}}\n', "PROTOBUF")]
    message = descriptor_pb2.DescriptorProto(name="M")
    for number, each in enumerate(types, 1):
        kind = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{each.upper()}")
        message.field.add(name=f"f{number}", number=number, type=kind, label="LABEL_OPTIONAL")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorProto(name="m.proto", syntax="proto3", message_type=[message]))
    create = message_factory.GetMessageClass(pool.FindMessageTypeByName("M"))

    def draw(random: random.Random) -> bytes:
        values = {f"f{number}": _PROTOBUF[each](random) for number, each in enumerate(types, 1)}
        data: bytes = create(**values).SerializeToString()
        return b"\0" + data  # the first message of the file

    return _wire(ids, draw, "protobuf")
