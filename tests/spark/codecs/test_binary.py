"""Test Avro, Protocol Buffers and Kafka's own formats: values that their libraries reject or that exceed the limits."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge, protobuf
from tests.support.log_files import varint

# Avro, Protocol Buffers and Kafka's own formats: values that their libraries reject or that exceed the limits.

NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
ALWAYS = [{"id": "always", "require": "true"}]


def avro(schema: Any, **more: Any) -> dict[str, Any]:
    return {"value": {"format": "avro", "schema": json.dumps(schema)}, **more}


def zigzag(number: int) -> bytes:
    bits, out = number << 1, bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*out, bits])


@pytest.mark.parametrize("more", [{}, {"expressions": ALWAYS}], ids=["checked", "decoded"])
def test_avro_of_any_depth_leaves_the_jvm_alive(judge: Judge, more: dict[str, Any]) -> None:
    values = [b"\x02" * depth + b"\x00" for depth in (200_000, 490, 0)]
    verdicts = judge.values(avro(NODE, **more), values)
    assert [one.outcome for one in verdicts] == [UNDECIDABLE, VALID, VALID]
    assert verdicts[0].reason == "Avro beyond the limits of the audit: more than 500 nested values"


@pytest.mark.parametrize(
    ("schema", "value", "outcome"),
    [
        ("string", zigzag(2**31 - 1) + b"x", INVALID),
        ("bytes", zigzag(2**40), INVALID),
        ("bytes", b"\x01", INVALID),
        ({"type": "array", "items": "null"}, zigzag(2**62) + b"\x00", UNDECIDABLE),
        ({"type": "array", "items": "null"}, zigzag(1_000) + b"\x00", VALID),
        ({"type": "map", "values": "null"}, zigzag(2**62) + b"\x00", INVALID),
        ("string", b"\x04\xc0\x80", INVALID),
        ("long", b"\xff" * 10 + b"\x01", INVALID),
        ("int", zigzag(2**31), INVALID),
        (["null"], b"\x01", INVALID),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", INVALID),
        ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "R"}]}, b"", UNDECIDABLE),
    ],
)
def test_avro_lengths_are_bounded_before_anything_is_allocated(
    judge: Judge, schema: Any, value: bytes, outcome: str
) -> None:
    assert [one.outcome for one in judge.values(avro(schema), [value])] == [outcome]


@pytest.mark.parametrize("schema", ["none", {"type": "none"}, {"type": "array", "items": "none"}, ["null", "none"]])
def test_an_avro_schema_of_an_unknown_type_cannot_be_used_for_the_same_reason_each_time(
    judge: Judge, schema: Any
) -> None:
    """Avro 1.12 numbers unresolved names in its error messages, so each parser would report a different reason."""
    first, second = judge.values(avro(schema), [b"\x00"]) + judge.values(avro(schema), [b"\x00"])
    assert first.outcome == UNDECIDABLE
    assert first.reason == second.reason
    assert "Undefined schema: " in first.reason


PAYMENT = 'syntax = "proto3"; message Payment { int64 id = 1; Payment below = 2; string note = 3; }'
GROUP = 'syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 2; } required int32 b = 3; }'


def nested(depth: int) -> bytes:
    value = b""
    for _ in range(depth):
        value = b"\x12" + varint(len(value)) + value
    return value


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (b"\x0c", INVALID),
        (b"\x08\x01\x0c", INVALID),
        (b"\x08\x01", VALID),
        (nested(99), VALID),
        (nested(101), UNDECIDABLE),
        (nested(20_000), UNDECIDABLE),
        (nested(150)[:-1], INVALID),
        (b"\x1a\x01\xff", INVALID),
        (b"\x50\x01", VALID),
    ],
)
def test_protocol_buffers(judge: Judge, value: bytes, outcome: str) -> None:
    assert [one.outcome for one in judge.values(protobuf(PAYMENT), [value])] == [outcome]


def test_groups_are_read(judge: Judge) -> None:
    contract = protobuf(GROUP, expressions=[{"id": "a", "require": "value.g.a == 7"}])
    verdicts = judge.values(contract, [b"\x0b\x10\x07\x0c\x18\x01", b"\x0b\x10\x08\x0c\x18\x01", b"\x0b\x10\x07\x0c"])
    assert [(one.outcome, one.reason) for one in verdicts[:2]] == [(VALID, ""), (INVALID, "not true")]
    assert verdicts[2].outcome == INVALID, "a required field is missing"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (str(uuid.UUID(int=7)), VALID),
        ("1-1-1-1-1", VALID),
        ("00000000-0000-0000-0000-00000000000G", INVALID),
        ("0" * 32, INVALID),
        (f"{uuid.UUID(int=7)} ", INVALID),
        ("", INVALID),
    ],
)
def test_uuids_are_what_the_deserializer_of_kafka_reads(judge: Judge, text: str, outcome: str) -> None:
    assert [one.outcome for one in judge.values({"value": {"format": "uuid"}}, [text.encode()])] == [outcome]


def test_an_unusable_schema_makes_only_its_part_undecidable(judge: Judge) -> None:
    contract = {
        "value": {"format": "json", "schema": '{"pattern": "("}'},
        "headers": ["trace-id"],
        "expressions": [{"id": "broken", "require": "value ++"}],
    }
    faults = {fault["rule"]: fault["undecided"] for fault in judge.faults(contract, b"{}")}
    assert faults == {"header": False, "value-schema": True, "expression:broken": True}


def test_a_record_that_lacks_several_headers_is_one_record(judge: Judge) -> None:
    (fault,) = judge.faults({"headers": ["trace-id", "tenant"]}, b"")
    assert (fault["rule"], fault["reason"], fault["count"]) == ("header", "missing trace-id, tenant", 1)


@pytest.mark.parametrize(
    "part",
    [
        {"format": "json", "schema": ""},
        {"format": "avro", "schema": "{"},
        {"format": "protobuf", "descriptors": ""},
        {"format": "protobuf", "unusable": "its file cannot be read"},
        {"format": "text"},
    ],
)
def test_an_unusable_schema_never_passes(judge: Judge, part: dict[str, str]) -> None:
    (verdict,) = judge.values({"value": part}, [b"{}"])
    assert verdict.outcome == UNDECIDABLE
    assert "the schema cannot be used" in verdict.reason


def test_undecidable_records_do_not_hide_invalid_ones(judge: Judge) -> None:
    """After twenty reasons, the other faults are summed, separately for each of the two verdicts."""
    expressions = [{"id": f"e{number}", "require": "value.a > 0"} for number in range(30)]
    contract = {"value": {"format": "json"}, "expressions": [*expressions, {"id": "last", "require": "value.b > 0"}]}
    faults = judge.faults(contract, b'{"a": 0}')
    assert [fault["undecided"] for fault in faults if fault["rule"] == "expression:last"] == [True]
    assert sum(not fault["undecided"] for fault in faults) == 30
