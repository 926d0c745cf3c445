"""Write records in Confluent's wire format with correct and wrong schema ids."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import yaml
from kafka.admin import NewTopic

from tests.broker.contents.records import writing
from tests.support.cases import Case
from tests.support.registry import register_schema
from topicwarden.kafka.connect.clients import connected

TOPICS = ("registry.avro", "registry.json", "registry.protobuf", "registry.money", "registry.linked", "registry.named")
_MONEY = """\
syntax = "proto3";
import "google/protobuf/field_mask.proto";
import "google/type/money.proto";
message Price { google.type.Money amount = 1; google.protobuf.FieldMask mask = 2; }
"""
PROJECT = Case(
    "contents", yaml.load(Path(__file__).with_name("project.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
)
"""The project that all tests of this folder use."""


def _schema(file: str) -> str:
    return PROJECT.files[f"topics/contents/schemas/{file}"]


def fill(servers: Sequence[str], url: str) -> None:
    """Write to each topic a valid record, a tombstone, and one record for each possible fault."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS])
    avro = register_schema(url, "registry.avro-value", _schema("payment.avsc"), "AVRO")
    other = register_schema(url, "elsewhere-value", '{"type": "record", "name": "Other", "fields": []}', "AVRO")
    shape = register_schema(url, "registry.json-value", _schema("payment.json"), "JSON")
    proto = register_schema(url, "registry.protobuf-value", _schema("payment.proto"), "PROTOBUF")
    money = register_schema(url, "registry.money-value", _MONEY, "PROTOBUF")
    draft = '"$schema": "http://json-schema.org/draft-07/schema#"'
    register_schema(url, "id.json", f'{{{draft}, "type": "integer"}}', "JSON")
    linked = f'{{{draft}, "$id": "https://e.org/a.json", "properties": {{"id": {{"$ref": "id.json"}}}}}}'
    with_id = register_schema(url, "registry.linked-value", linked, "JSON", ["id.json"])
    payment = b"\x02" + struct.pack("<d", 1.5) + b"\x00"
    message = b"\x08\x07\x11" + struct.pack("<d", 1.5)
    with writing(servers) as producer:
        for value in (
            *(wire(avro, payment), None),
            wire(avro, payment[:-3]),  # 2: cut off
            wire(999_999, payment),  # 3: an unknown id
            wire(other, b""),  # 4: a schema of another subject
            wire(shape, payment),  # 5: a schema of another format
            b"{}",  # 6: not the wire format
        ):
            producer.produce("registry.avro", value)
        for value in (wire(shape, b'{"id": 1, "amount": 2}'), None, wire(shape, b'{"id": "1", "amount": 2}')):
            producer.produce("registry.json", value)
        for value in (
            *(wire(proto, b"\x02\x02" + message), None),  # the message index path [1], zigzag-encoded
            wire(proto, b"\x02\x02" + message[:-1]),  # 2: cut off
            wire(proto, b"\x02\x0a" + message),  # 3: message index 5, which does not exist
        ):
            producer.produce("registry.protobuf", value)
        for value in (wire(money, b"\x00\x0a\x02\x10\x05"), wire(money, b"\x00\x0a\x02\x10")):  # 1: cut off
            producer.produce("registry.money", value)
        for value in (wire(with_id, b'{"id": 1}'), wire(with_id, b'{"id": "1"}')):  # 1: another type
            producer.produce("registry.linked", value)
        named: list[tuple[str, str | bytes | None]] = [("__value_schema_id", b"\x01" + bytes(16))]
        for value in (b"\x00" * 6, payment):
            producer.produce("registry.named", value, headers=named)


def wire(schema_id: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema_id) + data
