"""Avro schemas that Java's library reads, beyond what the specification says."""

from __future__ import annotations

from typing import Final

JAVA_AVRO: Final = {
    "comments": '{"type": "record", /* a // b */ "name": "A", // the name\n "fields": [{"name": "u", "type": "string", '
    '"default": "http://a/*b*/"}]}',
    "a name of another script": '{"type": "record", "name": "Größe", "namespace": "com.åkme", '
    '"fields": [{"name": "straße1", "type": "int"}]}',
    "a symbol of another script": '{"type": "enum", "name": "E", "symbols": ["ÄPFEL", "é_1"]}',
    "null as namespace": '{"type": "record", "name": "A", "namespace": null, "fields": []}',
    "null as namespace inside": '{"type": "record", "name": "A", "namespace": "n", "fields": [{"name": "b", "type": '
    '{"type": "fixed", "name": "B", "namespace": null, "size": 1}}, {"name": "c", "type": "n.B"}]}',
    "use before definition": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["null", "B"]}, '
    '{"name": "b", "type": {"type": "fixed", "name": "B", "size": 1}}]}',
    "NaN": '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "double", "default": "NaN"}, '
    '{"name": "b", "type": "float", "default": "-Infinity"}, {"name": "c", "type": "float", "default": "1e3"}]}',
}
