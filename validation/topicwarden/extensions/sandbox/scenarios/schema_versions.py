"""Payments whose schema has grown: the oldest records have no currency, which the declared schema fills with a default.

The registry compares a new schema with the latest version only (BACKWARD), so it accepts one without the default, which
no longer reads the oldest records. A plan finds these records.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final

from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.write import register
from topicwarden.model.subject import RegisteredSchema, SubjectVersion

TOPIC: Final = "shop.payments"
SUBJECT: Final = f"{TOPIC}-value"
OLD, NEW = 200, 100
"""The number of records with the first and with the declared schema."""
CURRENCY: Final = "EUR"


def first_version(declared: RegisteredSchema) -> RegisteredSchema:
    """Return the schema before the currency was added."""
    return _changed(declared, lambda fields: [field for field in fields if field["name"] != "currency"])


def without_default(declared: RegisteredSchema) -> RegisteredSchema:
    """Return the schema of a pull request that removes the default. Compatible with the declared one."""
    return _changed(
        declared, lambda fields: [{key: value for key, value in each.items() if key != "default"} for each in fields]
    )


def with_required_field(declared: RegisteredSchema) -> RegisteredSchema:
    """Return the schema of a pull request that adds a field without a default. Not compatible with the declared one."""
    return _changed(declared, lambda fields: [*fields, {"name": "method", "type": "string"}])


def register_first(client: RegistryClient, declared: RegisteredSchema) -> SubjectVersion:
    """Register the first version, as an earlier deploy did."""
    return register(client, SUBJECT, first_version(declared))


def fill(servers: Sequence[str], first: SubjectVersion, declared: SubjectVersion) -> None:
    """Write ``OLD`` payments with the first schema, then ``NEW`` ones with the declared one."""
    with writing(servers) as writer:
        for number in range(OLD + NEW):
            order, amount = f"order-{number}", 12.5
            written = first if number < OLD else declared
            value = struct.pack(">bI", 0, written.id) + _text(order) + struct.pack("<d", amount)
            writer.send(TOPIC, order, value if number < OLD else value + _text(CURRENCY))


def _changed(schema: RegisteredSchema, change: Any) -> RegisteredSchema:
    record = json.loads(schema.text)
    record["fields"] = change(record["fields"])
    return RegisteredSchema(schema.format, json.dumps(record), schema.references)


def _text(text: str) -> bytes:
    """Return ``text`` in Avro's encoding, for texts of up to 63 bytes: twice the length, then the text in UTF-8."""
    data = text.encode()
    return bytes([2 * len(data)]) + data
