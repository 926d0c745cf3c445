"""Compare the reader with the Python libraries of Avro and Protocol Buffers, on random schemas and records.

Every disagreement fails, except for those listed in ``EXPLAINED``, which are counted.
"""

from __future__ import annotations

import io
import json
import random
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from typing import Any

import avro.errors
import avro.io
import avro.schema
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.spark.codecs import avro_schemas
from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge, Verdict

EXPLAINED = {
    "an integer beyond its type": "Avro's Python library reads integers of any length",
    "a negative index": "Avro's Python library counts branches and symbols from the end",
    "an unknown symbol": "Avro's Python library takes an enum's default for an index that its writer's schema has not",
    "beyond a limit": "the audit's limits are documented; the record is undecidable",
    "a tag beyond 32 bits": "Protocol Buffers' Java library drops the upper bits of a field's tag",
}

RECORDS = 5
"""The number of records for each schema. Half of them are damaged."""

Outcome = tuple[bool, str]
"""Whether the reference library accepts a record, and an explanation if the reader does not."""


class _Decoder(avro.io.BinaryDecoder):
    """Record integers that are outside the range of their type."""

    odd = ""

    def read_long(self) -> int:
        start = self.reader.tell()
        number: int = super().read_long()
        if not -(2**63) <= number < 2**63 or self.reader.tell() - start > 10:
            self.odd = "an integer beyond its type"
        return number

    def read_int(self) -> int:
        number = self.read_long()
        if not -(2**31) <= number < 2**31:
            self.odd = "an integer beyond its type"
        return number


class _Reader(avro.io.DatumReader):
    """Record indexes below zero, and indexes of unknown symbols."""

    def read_enum(self, written: Any, read: Any, decoder: Any) -> Any:
        self._watch(decoder, len(written.symbols), "an unknown symbol")
        return super().read_enum(written, read, decoder)

    def read_union(self, written: Any, read: Any, decoder: Any) -> Any:
        self._watch(decoder, len(written.schemas), "")
        return super().read_union(written, read, decoder)

    @staticmethod
    def _watch(decoder: _Decoder, choices: int, beyond: str) -> None:
        start = decoder.reader.tell()
        index = decoder.read_long()
        decoder.reader.seek(start)
        decoder.odd = decoder.odd or ("a negative index" if index < 0 else beyond if index >= choices else "")


def avro_accepts(schema: Any, value: bytes) -> Outcome:
    """Return the outcome of Avro's Python library for a record."""
    stream = io.BytesIO(value)
    decoder = _Decoder(stream)
    try:
        _Reader(schema, schema).read(decoder)
    except Exception:  # noqa: BLE001  (any exception is possible, depending on the bytes)
        return False, ""
    return stream.tell() == len(value), decoder.odd


_PLAIN: dict[str, Callable[[random.Random], Any]] = {
    "null": lambda draw: None,
    "boolean": lambda draw: draw.random() < 0.5,
    "int": lambda draw: draw.randint(-(2**31), 2**31 - 1) >> draw.randint(0, 31),
    "long": lambda draw: draw.randint(-(2**63), 2**63 - 1) >> draw.randint(0, 63),
    "float": lambda draw: draw.uniform(-10, 10),
    "double": lambda draw: draw.uniform(-10, 10),
    "bytes": lambda draw: draw.randbytes(draw.randint(0, 5)),
    "string": lambda draw: "".join(draw.choices("aé\u2028\U0001f600", k=draw.randint(0, 4))),
}


def avro_value(schema: Any, draw: random.Random, depth: int = 4) -> Any:
    """Return a random value of a parsed schema."""
    if schema.type in _PLAIN:
        return _PLAIN[schema.type](draw)
    if schema.type in ("enum", "fixed"):
        return draw.choice(schema.symbols) if schema.type == "enum" else draw.randbytes(schema.size)
    count = draw.randint(0, 3) if depth else 0
    if schema.type == "array":
        return [avro_value(schema.items, draw, depth - 1) for _ in range(count)]
    if schema.type == "map":
        return {str(key): avro_value(schema.values, draw, depth - 1) for key in range(count)}
    if schema.type == "union":
        return avro_value(draw.choice(schema.schemas), draw, depth - 1)
    return {field.name: avro_value(field.type, draw, depth - 1) for field in schema.fields}


def _encoded(schema: Any, draw: random.Random) -> bytes:
    stream = io.BytesIO()
    try:
        avro.io.DatumWriter(schema).write(avro_value(schema, draw), avro.io.BinaryEncoder(stream))
    except avro.errors.AvroException:  # the library cannot distinguish an empty record from an empty map in a union
        return draw.randbytes(draw.randint(0, 8))
    return stream.getvalue()


def damaged(value: bytes, draw: random.Random) -> bytes:
    """Return ``value`` with a few bytes changed, removed, added, or repeated."""
    data = bytearray(value)
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(data))
        match draw.randint(0, 3):
            case 0:
                data[at : at + 1] = draw.randbytes(1)
            case 1:
                del data[at : at + draw.randint(1, 3)]
            case 2:
                data[at:at] = draw.choice([b"\xff", b"\x00", b"\x01", b"\x80", b"\x0c", b"\x0b", b"\xff" * 9])
            case _:
                data[at:at] = data[: draw.randint(0, 4)]
    return bytes(data)


def compare(expected: Outcome, verdict: Verdict, counts: Counter[str], what: str) -> None:
    """Count an agreement or an explained disagreement; fail for all other disagreements."""
    accepted, odd = expected
    if verdict.outcome == (VALID if accepted else INVALID):
        counts["agreed: valid" if accepted else "agreed: invalid"] += 1
    elif odd and verdict.outcome != UNDECIDABLE:
        counts[odd] += 1
    else:
        raise AssertionError(f"reference: {'valid' if accepted else 'invalid'}; reader: {verdict}; {what}")


def compare_avro(judge: Judge, schema: Any, draw: random.Random, counts: Counter[str]) -> None:
    """Compare the verdicts on ``RECORDS`` records of a schema."""
    text = json.dumps(schema)
    parsed = avro.schema.parse(text)
    values = []
    for number in range(RECORDS):
        value = _encoded(parsed, draw)
        values.append(damaged(value, draw) if number % 2 else value)
    contract = {"value": {"format": "avro", "schema": text}}
    for value, verdict in zip(values, judge.values(contract, values), strict=True):
        if verdict.outcome == UNDECIDABLE and "beyond the limits" in verdict.reason:
            counts["beyond a limit"] += 1  # the reference would count to 2^63
        else:
            compare(avro_accepts(parsed, value), verdict, counts, f"{text} {value!r}")


_SCALARS = tuple(number for number in range(1, 19) if number not in (10, 11, 14))


def descriptor(draw: random.Random) -> descriptor_pb2.FileDescriptorProto:
    """Return a file with two messages and an enum, in proto2 or proto3."""
    old = draw.random() < 0.5
    file = descriptor_pb2.FileDescriptorProto(name="record.proto", syntax="proto2" if old else "proto3")
    file.enum_type.add(name="E").value.add(name="ZERO", number=0)
    file.enum_type[0].value.add(name="ONE", number=1)
    for name in ("A", "B"):
        made = file.message_type.add(name=name)
        for number in draw.sample(range(1, 40), draw.randint(0, 5)):
            label = draw.choice((1, 3, 3, 2) if old and draw.random() < 0.2 else (1, 3))
            kind = draw.choice((*_SCALARS, 11, 14)) if label != 2 else draw.choice(_SCALARS)
            field = made.field.add(name=f"f{number}", number=number, label=label, type=kind)
            if kind in (11, 14):
                field.type_name = ".E" if kind == 14 else draw.choice((".A", ".B"))
            if label == 3 and kind not in (9, 11, 12) and draw.random() < 0.5:
                field.options.packed = draw.random() < 0.5
        if old and draw.random() < 0.3:
            group = made.nested_type.add(name="G")
            group.field.add(name="x", number=1, label=1, type=3)
            made.field.add(name="g", number=50, label=draw.choice((1, 3)), type=10, type_name=f".{name}.G")
    return file


def fill(target: Any, draw: random.Random, depth: int = 3) -> None:
    """Set random fields of a message."""
    for field in target.DESCRIPTOR.fields:
        required = field.label == field.LABEL_REQUIRED
        for _ in range(
            draw.randint(0, 3) if field.label == field.LABEL_REPEATED else int(required or draw.random() < 0.7)
        ):
            if field.cpp_type == field.CPPTYPE_MESSAGE:
                if depth or required:
                    nested = getattr(target, field.name)
                    fill(nested.add() if field.label == field.LABEL_REPEATED else nested, draw, depth - 1)
                continue
            value = _scalar(field, draw)
            if field.label == field.LABEL_REPEATED:
                getattr(target, field.name).append(value)
            else:
                setattr(target, field.name, value)


def _scalar(field: Any, draw: random.Random) -> Any:
    if field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64):
        bits = 31 if field.cpp_type == field.CPPTYPE_INT32 else 63
        return draw.randint(-(2**bits), 2**bits - 1) >> draw.randint(0, bits)
    if field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64):
        return draw.getrandbits(32 if field.cpp_type == field.CPPTYPE_UINT32 else 64)
    if field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        return draw.uniform(-10, 10)
    if field.cpp_type == field.CPPTYPE_BOOL:
        return draw.random() < 0.5
    if field.cpp_type == field.CPPTYPE_ENUM:
        return draw.randint(0, 1)
    return (
        draw.choice(("", "a", "é\U0001f600")) if field.type == field.TYPE_STRING else draw.randbytes(draw.randint(0, 4))
    )


def protobuf_accepts(kind: Any, value: bytes) -> Outcome:
    """Return the outcome of Protocol Buffers' Python library for a record."""
    made = kind()
    try:
        made.ParseFromString(value)
    except message.DecodeError:
        return False, "a tag beyond 32 bits" if has_long_tag(kind.DESCRIPTOR, value) else ""
    return made.IsInitialized(), ""


def has_long_tag(kind: Any, value: bytes) -> bool:
    """Return whether a field tag in the message, or in a nested message, has more than 32 bits.

    ``kind`` is the message descriptor.
    """
    stream, kinds = io.BytesIO(value), [kind]
    while kinds and stream.tell() < len(value):
        start = stream.tell()
        tag = _varint(stream)
        if tag >= 2**32 or stream.tell() - start > 5:
            return True
        field = kinds[-1].fields_by_number.get(tag >> 3) if kinds[-1] else None
        below = field.message_type if field else None
        match tag & 7:
            case 0:
                _varint(stream)
            case 1 | 5:
                stream.read(8 if tag & 7 == 1 else 4)
            case 2:
                within = stream.read(min(_varint(stream), len(value)))
                if below and has_long_tag(below, within):
                    return True
            case 3:
                kinds.append(below)
            case _:
                kinds.pop()
    return False


def _varint(stream: io.BytesIO) -> int:
    number = shift = 0
    while byte := stream.read(1):
        number |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            break
    return number


def compare_protobuf(judge: Judge, draw: random.Random, counts: Counter[str]) -> None:
    """Compare the verdicts on ``RECORDS`` records of the first message of a random file."""
    file = descriptor(draw)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("A"))
    values = []
    for number in range(RECORDS):
        made = kind()
        fill(made, draw)
        value = made.SerializePartialToString()
        values.append(damaged(value, draw) if number % 2 else value)
    descriptors = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    contract = {"value": {"format": "protobuf", "descriptors": b64encode(descriptors).decode(), "message": "A"}}
    for value, verdict in zip(values, judge.values(contract, values), strict=True):
        compare(protobuf_accepts(kind, value), verdict, counts, f"{file} {value!r}")


def run(judge: Judge, number: int, count: int) -> Counter[str]:
    """Compare about ``count`` pairs of a schema and a record, half for each format; return the counts."""
    counts: Counter[str] = Counter()
    quiet = settings(
        max_examples=max(1, count // RECORDS // 2),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    @seed(number)
    @quiet
    @given(avro_schemas.schemas(), st.randoms(use_true_random=False))
    def each_avro(schema: Any, draw: random.Random) -> None:
        compare_avro(judge, schema, random.Random(draw.getrandbits(64)), counts)

    @seed(number)
    @quiet
    @given(st.integers(0, 2**64 - 1))
    def each_protobuf(start: int) -> None:
        compare_protobuf(judge, random.Random(start), counts)

    each_avro()
    each_protobuf()
    return counts
