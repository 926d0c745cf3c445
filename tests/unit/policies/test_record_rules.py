"""Test what ``check`` says about rules that compare records."""

from __future__ import annotations

import json

import pytest

from topicwarden.model.contents import path_steps
from topicwarden.specs.record_schemas.field_paths import path_error

JSON = json.dumps(
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {"order_id": {"type": "string"}, "meta": {"type": "object"}, "lines": {"type": "array"}},
    }
)
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": ["null", "long"]},
            {"name": "meta", "type": {"type": "record", "name": "Meta", "fields": [{"name": "id", "type": "int"}]}},
        ],
    }
)
NAMED_AS_KINDS = json.dumps(
    {
        "type": "record",
        "name": "A",
        "fields": [
            {"name": "a", "type": "record"},
            {"name": "b", "type": {"type": "enum", "name": "map", "symbols": ["x"]}},
            {"name": "m", "type": "map"},
            {"name": "c", "type": {"type": "record", "name": "record", "fields": [{"name": "b", "type": "int"}]}},
        ],
    }
)
PROTO = (
    'syntax = "proto3"; package shop; message Order { string id = 1; Meta meta = 2; message Meta { int32 id = 1; } }'
)


@pytest.mark.parametrize(
    ("format", "text", "path"),
    [
        ("json", JSON, "order_id"),
        ("json", JSON, "/meta/anything"),
        ("json", JSON, "lines.0"),
        ("json", '{"properties": {"id": {}}}', "other"),
        ("avro", AVRO, "id"),
        ("avro", AVRO, "meta.id"),
        ("avro", NAMED_AS_KINDS, "a.b"),
        ("avro", NAMED_AS_KINDS, "a"),
        ("avro", NAMED_AS_KINDS, "m"),
        ("protobuf", PROTO, "meta.id"),
    ],
)
def test_a_field_that_the_schema_can_have_is_accepted(format: str, text: str, path: str) -> None:
    assert path_error(format, text, None, path_steps(path)) is None


@pytest.mark.parametrize(
    ("format", "text", "path", "error"),
    [
        ("json", JSON, "order_ids", "the schema has no field 'order_ids'; did you mean 'order_id'?"),
        ("json", JSON, "order_id.x", "'order_id' is of the type string, and has no fields"),
        ("json", JSON, "meta", "the field is an object or an array, expected a single value"),
        ("avro", AVRO, "meta.ids", "the schema has no field 'ids'; did you mean 'id'?"),
        ("avro", AVRO, "meta", "the field is of the type record, expected a single value"),
        ("protobuf", PROTO, "meta.idd", "the schema has no field 'idd'; did you mean 'id'?"),
        ("protobuf", PROTO, "meta", "the field is a message, expected a single value"),
    ],
)
def test_a_field_that_the_schema_cannot_have_is_refused(format: str, text: str, path: str, error: str) -> None:
    found = path_error(format, text, None, path_steps(path))
    assert found is not None and found.replace('"', "'").replace("`", "'") == error


def test_a_json_pointer_and_a_dotted_path_name_the_same_steps() -> None:
    assert path_steps("/a/b~1c~0") == ("a", "b/c~")
    assert path_steps("a.b") == ("a", "b")
