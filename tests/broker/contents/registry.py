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

TOPICS = ("registry.avro", "registry.json", "registry.protobuf")
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


def wire(schema_id: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema_id) + data
