"""Test expressions at the edges of the values of each format."""

from __future__ import annotations

import io
import json
from typing import Any, Final

import avro.io
import avro.schema
import pytest

from tests.spark.codecs.judge import UNDECIDABLE, Judge, protobuf

LEAST, MOST = -(2**63), 2**63 - 1

AVRO: Final[list[tuple[Any, Any, str]]] = [
    ("null", None, "value.x == null && has(value.x)"),
    ("boolean", False, "value.x == false"),
    ("int", 2**31 - 1, "value.x == 2147483647 && type(value.x) == int"),
    ("int", -(2**31), "value.x == -2147483648"),
    ("long", MOST, "value.x == 9223372036854775807 && value.x > 9223372036854775806.0 - 1024.0"),
    ("long", LEAST, "value.x == -9223372036854775808"),
    ("float", -1.5, "value.x == -1.5 && type(value.x) == double"),
    ("float", float("inf"), "value.x > 1.7976931348623157e308"),
    ("double", 5e-324, "value.x > 0.0 && value.x < 1e-323"),
    ("double", float("nan"), "value.x != 1.0 && !(value.x < 1.0) && !(value.x >= 1.0)"),
    ("bytes", b"", "value.x == b'' && size(value.x) == 0"),
    ("bytes", b"\x00\xff", "value.x == b'\\x00\\xff'"),
    ("string", "", "value.x == '' && size(value.x) == 0"),
    ("string", "\U0001f600", "size(value.x) == 1"),
    ({"type": "fixed", "name": "F", "size": 2}, b"\x80\x00", "value.x == b'\\x80\\x00'"),
    ({"type": "enum", "name": "E", "symbols": ["NEW", "PAID"]}, "PAID", "value.x == 'PAID'"),
    ({"type": "array", "items": "long"}, [], "value.x == [] && size(value.x) == 0"),
    ({"type": "map", "values": "long"}, {"": 0}, "value.x[''] == 0 && !has(value.x.other)"),
    (["null", "long"], None, "value.x == null"),
    (["null", "long"], 0, "value.x == 0 && value.x != null"),
    # A logical type is seen as the type that encodes it.
    ({"type": "long", "logicalType": "timestamp-millis"}, 1_700_000_000_000, "value.x == 1700000000000"),
    ({"type": "int", "logicalType": "date"}, -1, "value.x == -1"),
    ({"type": "string", "logicalType": "uuid"}, "a-b", "value.x == 'a-b'"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, b"\xff\x85", "value.x == b'\\xff\\x85'"),
]


@pytest.mark.parametrize(("schema", "value", "expression"), AVRO, ids=[each[2] for each in AVRO])
def test_avro(judge: Judge, schema: Any, value: Any, expression: str) -> None:
    record = json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": schema}]})
    # The writer would convert a value of a logical type, and this is how it is encoded.
    plain = {key: one for key, one in schema.items() if key != "logicalType"} if isinstance(schema, dict) else schema
    encoded = json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": plain}]})
    out = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(encoded)).write({"x": value}, avro.io.BinaryEncoder(out))
    assert_true(judge, {"format": "avro", "schema": record}, out.getvalue(), expression)


JSON: Final[list[tuple[str, str]]] = [
    ("null", "value.x == null && has(value.x)"),
    ("9223372036854775807", "value.x == 9223372036854775807 && type(value.x) == int"),
    ("-9223372036854775808", "value.x == -9223372036854775808"),
    ("1.0", "value.x == 1.0 && value.x == 1"),
    ("-0.0", "value.x == 0.0"),
    ("5e-324", "value.x > 0.0"),
    ('""', "value.x == '' && size(value.x) == 0"),
    ('"\\u0000\\ud83d\\ude00"', "size(value.x) == 2"),
    ("[]", "value.x == []"),
    ("[null, 1, 1.5, true]", "value.x[0] == null && value.x[1] == 1 && value.x[2] == 1.5 && value.x[3]"),
    ('{"": {}}', "value.x[''] == {} && !has(value.x.other)"),
]


@pytest.mark.parametrize(("text", "expression"), JSON, ids=[each[1] for each in JSON])
def test_json(judge: Judge, text: str, expression: str) -> None:
    assert_true(judge, {"format": "json"}, f'{{"x": {text}}}'.encode(), expression)


PROTO: Final[list[tuple[str, bytes, str]]] = [
    ("uint32", b"\x08\xff\xff\xff\xff\x0f", "value.x == 4294967295u && value.x > 2147483647"),
    ("uint64", b"\x08" + b"\xff" * 9 + b"\x01", "value.x == 18446744073709551615u && value.x > 9223372036854775807"),
    ("int32", b"\x08" + b"\xff" * 9 + b"\x01", "value.x == -1"),
    ("int64", b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "value.x == -9223372036854775808"),
    ("sint32", b"\x08\xff\xff\xff\xff\x0f", "value.x == -2147483648"),
    ("fixed32", b"\x0d\xff\xff\xff\xff", "value.x == 4294967295u"),
    ("sfixed64", b"\x09" + b"\xff" * 8, "value.x == -1"),
    ("float", b"\x0d\x00\x00\x80\x7f", "value.x > 3.4028235e38"),
    ("double", b"\x09\x00\x00\x00\x00\x00\x00\xf8\x7f", "value.x != 1.0 && !(value.x < 1.0) && !(value.x >= 1.0)"),
    ("bool", b"\x08\x01", "value.x"),
    ("string", b"\x0a\x00", "value.x == '' && !has(value.x)"),
    ("optional string", b"\x0a\x00", "value.x == '' && has(value.x)"),
    ("bytes", b"\x0a\x01\xff", "value.x == b'\\xff'"),
    ("repeated uint64", b"\x0a\x01\x00", "value.x == [0u]"),
    ("map<uint64, bool>", b"\x0a\x02\x08\x07", "7u in value.x && value.x[7u] == false"),
    ("M", b"\x0a\x00", "has(value.x) && !has(value.x.x)"),
]


@pytest.mark.parametrize(("kind", "data", "expression"), PROTO, ids=[each[2] for each in PROTO])
def test_protocol_buffers(judge: Judge, kind: str, data: bytes, expression: str) -> None:
    contract = protobuf(f'syntax = "proto3"; message M {{ {kind} x = 1; }}')["value"]
    assert_true(judge, contract, data, expression)


def assert_true(judge: Judge, contract: dict[str, Any], data: bytes, expression: str) -> None:
    """Assert that an expression holds, and that its negation is known not to."""
    rules = ({"id": "rule", "require": each} for each in (expression, f"!({expression})"))
    verdicts = [judge.values({"value": contract, "expressions": [rule]}, [data])[0] for rule in rules]
    assert [each.outcome for each in verdicts] == ["valid", "invalid"], verdicts


@pytest.mark.parametrize("text", ["18446744073709551615", "1e400", "1e-400"])
def test_a_json_number_that_cel_cannot_hold_is_undecidable(judge: Judge, text: str) -> None:
    rule = {"id": "rule", "require": "value.x >= 0"}
    (verdict,) = judge.values({"value": {"format": "json"}, "expressions": [rule]}, [f'{{"x": {text}}}'.encode()])
    assert (verdict.outcome, verdict.reason) == (UNDECIDABLE, "cannot be evaluated: a number that CEL cannot hold")
