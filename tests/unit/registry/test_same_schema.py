"""Test which differences between schemas count, on plain values."""

from __future__ import annotations

import pytest

from topicwarden.kafka.registry.same_schema import same
from topicwarden.model.subject import RegisteredSchema, SchemaReference

RECORD = '{"type":"record","name":"A","namespace":"n","fields":[%s]}'
PROTO = 'syntax = "proto3";\nmessage M {\n  // about id\n  int32 id = 1;\n}\n'

SAME = {
    "white space of Avro": ("avro", RECORD % "", RECORD.replace(":", " :\n") % ""),
    "order of attributes": ("avro", '{"type":"array","items":"int"}', '{"items":"int","type":"array"}'),
    "full name": ("avro", RECORD % "", '{"type":"record","name":"n.A","fields":[]}'),
    "inner name": (
        "avro",
        RECORD % '{"name":"e","type":{"type":"enum","name":"E","symbols":[]}},{"name":"f","type":"E"}',
        RECORD % '{"name":"e","type":{"type":"enum","name":"n.E","symbols":[]}},{"name":"f","type":"n.E"}',
    ),
    "primitive as an object": ("avro", '"int"', '{"type":"int"}'),
    "default order": (
        "avro",
        RECORD % '{"name":"a","type":"int"}',
        RECORD % '{"name":"a","type":"int","order":"ascending"}',
    ),
    "full alias": (
        "avro",
        '{"type":"fixed","name":"n.F","size":1,"aliases":["G"]}',
        '{"type":"fixed","name":"n.F","size":1,"aliases":["n.G"]}',
    ),
    "escapes": ("avro", '{"type":"int","doc":"\\u00e9"}', '{"type":"int","doc":"é"}'),
    "order of keys": ("json", '{"a":1,"b":{"c":2,"d":3}}', '{"b": {"d": 3, "c": 2}, "a": 1}'),
    "line ends of Protobuf": ("protobuf", PROTO, PROTO.replace("\n", "\r\n")),
    "line ends of Protobuf without a form": ("protobuf", "/* a\n b", "/* a\r\n b"),
    "line ends of Avro": ("avro", RECORD.replace(",", ",\n") % "", RECORD.replace(",", ",\r\n") % ""),
    "line ends of JSON": ("json", '{"a":\n1}', '{"a":\r\n1}'),
    "white space of Protobuf": ("protobuf", PROTO, PROTO.replace("int32 id = 1;", "int32  id=1 ;")),
}
DIFFERENT = {
    "doc": ("avro", '{"type":"fixed","name":"F","size":1}', '{"type":"fixed","name":"F","size":1,"doc":""}'),
    "aliases": (
        "avro",
        RECORD % '{"name":"a","type":"int"}',
        RECORD % '{"name":"a","type":"int","aliases":["b"]}',
    ),
    "default": (
        "avro",
        RECORD % '{"name":"a","type":["null","int"]}',
        RECORD % '{"name":"a","type":["null","int"],"default":null}',
    ),
    "default of an enum": (
        "avro",
        '{"type":"enum","name":"E","symbols":["A"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"A"}',
    ),
    "namespace": ("avro", RECORD % "", RECORD.replace('"n"', '"m"') % ""),
    "order of fields": (
        "avro",
        RECORD % '{"name":"a","type":"int"},{"name":"b","type":"int"}',
        RECORD % '{"name":"b","type":"int"},{"name":"a","type":"int"}',
    ),
    "order of branches": ("avro", '["null","int"]', '["int","null"]'),
    "logical type": ("avro", '"int"', '{"type":"int","logicalType":"date"}'),
    "order of other attributes": ("avro", '{"type":"int","a":1,"b":2}', '{"type":"int","b":2,"a":1}'),
    "number and text": (
        "avro",
        RECORD % '{"name":"a","type":"string","default":"1"}',
        RECORD % '{"name":"a","type":"string","default":1}',
    ),
    "written number": ("json", '{"minimum":1}', '{"minimum":1.0}'),
    "number and flag": ("json", '{"const":1}', '{"const":true}'),
    "order of a list": ("json", '{"required":["a","b"]}', '{"required":["b","a"]}'),
    "duplicate keys": ("json", '{"a":1,"a":2}', '{"a":1, "a":2}'),
    "no JSON": ("json", "{", "{ "),
    "no number": ("json", "[NaN]", "[NaN ]"),
    "schema in type": ("avro", '{"type":{"type":"int"}}', '{"type": {"type":"int"}}'),
    "no Avro": ("avro", '{"type":"record","name":"A"}', '{"type":"record", "name":"A"}'),
    "no name": ("avro", '{"type":"enum","symbols":[]}', '{"type":"enum", "symbols":[]}'),
    "depth": ("json", "[" * 100_000 + "]" * 100_000, " " + "[" * 100_000 + "]" * 100_000),
    "comment": ("protobuf", PROTO, PROTO.replace("about", "of")),
    "line of a comment": ("protobuf", PROTO, PROTO.replace("{\n  //", "{ //")),
    "order in Protobuf": ("protobuf", PROTO, PROTO.replace("}", "string s = 2;}")),
    "text in Protobuf": ("protobuf", 'option a = "x y";', 'option a = "x  y";'),
    "open text": ("protobuf", 'option a = "x;', 'option a =  "x;'),
    "open comment": ("protobuf", "/* a", "/*  a"),
}


@pytest.mark.parametrize("name", SAME)
def test_differences_without_a_meaning_do_not_count(name: str) -> None:
    format, one, other = SAME[name]
    assert same(RegisteredSchema(format, one), RegisteredSchema(format, other))


@pytest.mark.parametrize("name", DIFFERENT)
def test_all_other_differences_count_and_texts_that_nobody_can_read_differ(name: str) -> None:
    format, one, other = DIFFERENT[name]
    assert not same(RegisteredSchema(format, one), RegisteredSchema(format, other))
    assert same(RegisteredSchema(format, one), RegisteredSchema(format, one))


def test_formats_and_references_count() -> None:
    assert not same(RegisteredSchema("avro", '"int"'), RegisteredSchema("json", '"int"'))
    one, two = SchemaReference("a", "a", 1), SchemaReference("b", "b", 1)
    assert same(RegisteredSchema("json", "{}", (one, two)), RegisteredSchema("json", "{ }", (two, one)))
    assert not same(RegisteredSchema("json", "{}", (one,)), RegisteredSchema("json", "{}"))
    newer = SchemaReference("a", "a", 2)
    assert not same(RegisteredSchema("json", "{}", (one,)), RegisteredSchema("json", "{}", (newer,)))
    latest = SchemaReference("a", "a")
    assert not same(RegisteredSchema("json", "{}", (latest,)), RegisteredSchema("json", "{}", (latest,)))
