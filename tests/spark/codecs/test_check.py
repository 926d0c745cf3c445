"""Test that schemas accepted by ``topicwarden check`` compile in the audit's reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.campaigns.conformance.suites import DRAFTS
from tests.spark.codecs import avro_schemas
from tests.spark.codecs.judge import INVALID, VALID, Judge, compiles
from tests.support.java_programs import JAVA_AVRO
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.record_schemas.ecma_pattern import pattern_error

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


BROKEN_JSON_SCHEMAS = {
    "pattern": {"pattern": "("},
    "nested pattern": {"properties": {"a": {"patternProperties": {"[b-a]": {}}}}},
    "dangling reference": {"$ref": "#/$defs/a"},
    "dangling anchor": {"$defs": {"a": {"$ref": "#b"}}},
    "reference to no schema": {"$ref": "#/required", "required": ["a"]},
    "pattern behind a reference": {"$ref": "#/x/a", "x": {"a": {"pattern": "*"}}},
    "outside": {"$ref": "https://example.com/other.json"},
    "draft": {"$schema": "http://json-schema.org/draft-03/schema#"},
    "draft of a part": {"$defs": {"a": {"$id": "urn:a", "$schema": "urn:unknown"}}},
    "draft that is no text": {"$schema": 7},
    "type": {"type": "text"},
    "enum": {"$schema": DRAFTS["draft4"], "enum": []},
    "required": {"$schema": DRAFTS["draft7"], "required": "a"},
    "bounds": {"minLength": -1},
}


@pytest.mark.parametrize("name", BROKEN_JSON_SCHEMAS)
def test_broken_json_schemas_are_refused(name: str) -> None:
    assert COMPILERS["json"](json.dumps(BROKEN_JSON_SCHEMAS[name]), None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        '{"const": NaN}',
        '{"const": 1e99999}',
        "[" * 100_000,
        '{"not":' * 300 + "{}" + "}" * 300,
        '{"const": ' + "1" * 5_000 + "}",
    ],
)
def test_an_invalid_json_schema_is_refused(text: str) -> None:
    assert COMPILERS["json"](text, None)


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "https://example.com/order", "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$id": "https://example.com/order", "$ref": "money", "$defs": {"m": {"$id": "money", "type": "string"}}},
        {"$id": "https://example.com/a/", "$ref": "https://example.com/a/b", "$defs": {"b": {"$id": "b"}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$defs": {"node": {"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}}, "$ref": "#node"},
    ],
)
def test_references_within_a_schema_are_accepted(judge: Judge, schema: dict[str, Any]) -> None:
    assert COMPILERS["json"](json.dumps(schema), None) is None
    assert compiles(judge, "json", json.dumps(schema)) == ""


PIECES = st.sampled_from(
    [
        *"ab-^$.|*+?(){}[],:=!<>12\\/ é\n&",
        "\U0001f600",
        "[a-z]",
        "[^",
        r"\d",
        r"\w",
        r"\S",
        r"\b",
        r"\p{L}",
        r"\P{Lu}",
        r"\u0041",
        r"\u{1F600}",
        r"\x41",
        r"\cA",
        r"\k<n>",
        "(?<n>",
        "(?:",
        "(?=",
        "(?!",
        "(?<=",
        r"\1",
        "{2}",
        "{1,}",
        r"\-",
        r"\.",
        r"\_",
        r"\0",
        r"\]",
        "&&",
        r"\p{Script=Greek}",
        r"\uD83D\uDE00",
        "[]",
        "[^]",
        r"\Q",
        r"\z",
        "(?i)",
    ]
)
TEXTS = st.text(alphabet="abAé1- \n\u2028\u00a0_&]\U0001f600^$", max_size=6)


@MANY
@given(pattern=st.lists(PIECES, max_size=8).map("".join), texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_patterns_that_are_accepted_match_as_an_engine_of_ecma_262_says(
    judge: Judge, pattern: str, texts: list[str]
) -> None:
    if pattern_error(pattern):
        return
    schema = json.dumps({"pattern": pattern})
    verdicts = judge.json_schema(schema, {}, [json.dumps(text).encode() for text in texts])
    assert not isinstance(verdicts, str), verdicts
    expected = [VALID if matches(pattern, text) else INVALID for text in texts]
    assert [verdict.outcome for verdict in verdicts] == expected


def matches(pattern: str, text: str) -> bool:
    """Return the result of the ECMA-262 engine that ``check`` uses."""
    import regress  # noqa: PLC0415

    from topicwarden.specs.record_schemas.ecma_pattern import strict_pattern  # noqa: PLC0415

    return regress.Regex(strict_pattern(pattern), flags="u").find(text) is not None


@MANY
@given(schema=avro_schemas.schemas(broken=True))
def test_avro_schemas_that_are_accepted_compile(judge: Judge, schema: Any) -> None:
    text = json.dumps(schema)
    if COMPILERS["avro"](text, None) is None:
        assert compiles(judge, "avro", text) == ""


@MANY
@given(schema=avro_schemas.schemas(broken=False))
def test_valid_avro_schemas_are_accepted(judge: Judge, schema: Any) -> None:
    assert COMPILERS["avro"](json.dumps(schema), None) is None
    assert compiles(judge, "avro", json.dumps(schema)) == ""


def record(*fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": "A", "fields": list(fields), **more}


BROKEN_AVRO: dict[str, Any] = {
    "unknown type": "text",
    "default": record({"name": "a", "type": "int", "default": "1"}),
    "default of a union": record({"name": "a", "type": ["null", "int"], "default": "x"}),
    "default of a record": record({"name": "a", "type": {**record({"name": "b", "type": "int"}), "name": "B"}})
    | {"fields": [{"name": "a", "type": record({"name": "b", "type": "int"}, name="B"), "default": {}}]},
    "enum twice": {"type": "enum", "name": "E", "symbols": ["A", "A"]},
    "enum name": {"type": "enum", "name": "E", "symbols": ["A-B"]},
    "enum default": {"type": "enum", "name": "E", "symbols": ["A"], "default": "B"},
    "no symbols": {"type": "enum", "name": "E"},
    "no size": {"type": "fixed", "name": "F"},
    "negative size": {"type": "fixed", "name": "F", "size": -1},
    "no items": {"type": "array"},
    "no values": {"type": "map"},
    "union of unions": [["null"], "int"],
    "branch twice": ["int", "int"],
    "field twice": record({"name": "a", "type": "int"}, {"name": "a", "type": "int"}),
    "name": record(name="1"),
    "defined twice": record({"name": "a", "type": {**record(), "name": "A"}}),
    "order": record({"name": "a", "type": "int", "order": "up"}),
    "aliases": record(aliases="B"),
}


@pytest.mark.parametrize("name", BROKEN_AVRO)
def test_broken_avro_schemas_are_refused(name: str) -> None:
    assert COMPILERS["avro"](json.dumps(BROKEN_AVRO[name]), None)


@pytest.mark.parametrize("name", JAVA_AVRO)
def test_avro_schemas_that_java_reads_are_accepted(judge: Judge, name: str) -> None:
    assert COMPILERS["avro"](JAVA_AVRO[name], None) is None
    assert compiles(judge, "avro", JAVA_AVRO[name]) == ""


PROTOS = {
    "group": 'syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 1; } }',
    "edition": 'edition = "2023"; message M { int32 a = 1; }',
    "import": 'syntax = "proto3"; import "google/protobuf/any.proto"; message M { google.protobuf.Any a = 1; }',
    "map and oneof": 'syntax = "proto3"; message M { map<string, M> a = 1; oneof b { int32 c = 2; string d = 3; } }',
    "extensions": 'syntax = "proto2"; message M { extensions 100 to 200; } extend M { optional int32 x = 100; }',
    "option": 'syntax = "proto3"; import "google/protobuf/descriptor.proto"; '
    'extend google.protobuf.FieldOptions { string note = 50000; } message M { int32 a = 1 [(note) = "x"]; }',
    "enum": 'syntax = "proto2"; enum E { option allow_alias = true; A = 0; B = 0; } message M { optional E e = 1; }',
    "nested": 'syntax = "proto3"; package a.b; message Outer { message M { int32 a = 1; } }',
}


@pytest.mark.parametrize("name", PROTOS)
def test_protos_are_accepted_and_compile(judge: Judge, name: str) -> None:
    message = "a.b.Outer.M" if name == "nested" else "M"
    assert COMPILERS["protobuf"](PROTOS[name], message) is None
    assert compiles(judge, "protobuf", PROTOS[name], message) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('syntax = "proto3"; message M { strin a = 1; }', '1:32: "strin" is not defined'),
        ('syntax = "proto3"; message M { int32 a = 1; int32 b = 1; }', "already been used"),
        ('syntax = "proto3"; import "other.proto"; message M {}', 'imports "other.proto"'),
        ('syntax = "proto3"; enum E { A = 0; }', "expected a message"),
        ('syntax = "proto3"; message N {}', 'has no message "M"; it has N'),
        ("message", "is not a valid .proto file"),
        ("", "is not a valid .proto file"),
    ],
)
def test_broken_protos_are_refused(text: str, why: str) -> None:
    assert why in (COMPILERS["protobuf"](text, "M") or "")
