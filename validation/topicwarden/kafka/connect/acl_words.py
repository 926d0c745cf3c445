"""The words for the parts of an access control list (ACL), as in Kafka's Java classes and the provider."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from kafka.admin import ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType

_ANY: Final = ("UNKNOWN", "ANY", "MATCH")
FIELDS: Final[Mapping[str, type[IntEnum]]] = {
    "operation": ACLOperation,
    "permission": ACLPermissionType,
    "resource_type": ResourceType,
    "pattern_type": ACLResourcePatternType,
}
"""The parts of an ACL that have words, with the enumeration of kafka-python."""


def words(field: str) -> dict[str, IntEnum]:
    """Return the words that a part of an ACL, a key of ``FIELDS``, may have, and what kafka-python calls them."""
    return {_word(member.name): member for member in FIELDS[field] if member.name not in _ANY}


def _word(name: str) -> str:
    """Return ``IdempotentWrite`` for ``IDEMPOTENT_WRITE``; ``TransactionalID`` has two capitals in the provider."""
    return "".join(part.capitalize() for part in name.split("_")).replace("TransactionalId", "TransactionalID")
