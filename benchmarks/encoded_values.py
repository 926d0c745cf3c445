"""Values of about 1,000 bytes in each format that has a schema, for the audit and for a bare parse of them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import avro.io
import avro.schema
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

DISTINCT = 1_000
"""The number of different values, which repeat."""
_LINE = {"sku": "string", "quantity": "int", "price": "double", "note": "string"}
_JSON_SCHEMA = {
    "type": "object",
    "required": ["id", "amount", "lines", "text"],
    "properties": {
        "id": {"type": "integer", "minimum": 0},
        "amount": {"type": "number"},
        "text": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
    },
}
_AVRO_LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": name, "type": type} for name, type in _LINE.items()],
}
_AVRO_SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": "double"},
        {"name": "text", "type": "string"},
        {"name": "lines", "type": {"type": "array", "items": _AVRO_LINE}},
    ],
}
_PROTO = """syntax = "proto3";
message Order { int64 id = 1; double amount = 2; string text = 3; repeated Line lines = 4; }
message Line { string sku = 1; int32 quantity = 2; double price = 3; string note = 4; }
"""
FILES = {"json": "value.json", "avro": "value.avsc", "protobuf": "value.proto"}
"""The name of the schema's file, by format."""
_DESCRIPTORS = "value.set"
_TEXT = {"json": 130, "avro": 520, "protobuf": 470}
"""The length of a text with which each value has about 1,000 bytes."""


def write_schema(format: str, folder: Path) -> Path:
    """Write the schema into ``folder``; return the file that ``WireFloor.java`` reads to parse the values."""
    texts = {"json": json.dumps(_JSON_SCHEMA), "avro": json.dumps(_AVRO_SCHEMA), "protobuf": _PROTO}
    file = folder / FILES[format]
    file.write_text(texts[format], encoding="utf-8")
    if format != "protobuf":
        return file
    compiled = folder / _DESCRIPTORS
    protoc = Path(sys.executable).with_name("protoc")
    subprocess.run([protoc, f"-I{folder}", f"--descriptor_set_out={compiled}", file.name], check=True)
    return compiled


def encoder(format: str, folder: Path) -> Callable[[int], bytes]:
    """Return a function that encodes the value with a number. ``folder`` has the schema."""
    encode = _as_protobuf(folder) if format == "protobuf" else {"json": _as_json, "avro": _as_avro}[format]

    @cache
    def value(number: int) -> bytes:
        lines = [{"sku": f"sku-{number + n}", "quantity": n, "price": n + 0.25, "note": "y" * 40} for n in range(8)]
        return encode({"id": number, "amount": number / 4, "text": "x" * _TEXT[format], "lines": lines})

    return lambda number: value(number % DISTINCT)


def _as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _as_avro(value: dict[str, Any]) -> bytes:
    written = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(json.dumps(_AVRO_SCHEMA))).write(value, avro.io.BinaryEncoder(written))
    return written.getvalue()


def _as_protobuf(folder: Path) -> Callable[[dict[str, Any]], bytes]:
    pool = descriptor_pool.DescriptorPool()
    (file,) = descriptor_pb2.FileDescriptorSet.FromString((folder / _DESCRIPTORS).read_bytes()).file
    pool.Add(file)
    order = message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))
    return lambda value: bytes(json_format.ParseDict(value, order()).SerializeToString())
