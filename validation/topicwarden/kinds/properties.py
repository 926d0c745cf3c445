"""Properties of resources: Pulumi's ``Struct`` messages as Python values, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

from google.protobuf.struct_pb2 import Struct, Value

Properties: TypeAlias = dict[str, Any]

UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands for a value that is not known before the deploy (Pulumi's ``UnknownStringValue``)."""

_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"


def secret(value: object) -> Properties:
    """Return ``value`` marked as a secret, which the engine encrypts in the state."""
    return {_SIGNATURE: _SECRET, "value": value}


def is_secret(value: object) -> bool:
    """Return whether ``value`` is marked as a secret, also if the engine has encrypted it."""
    return isinstance(value, dict) and value.get(_SIGNATURE) == _SECRET


def from_struct(struct: Struct) -> Properties:
    """Return the properties in ``struct``; secrets are replaced by their values."""
    return {name: _from_value(value) for name, value in struct.fields.items()}


def to_struct(properties: Mapping[str, Any]) -> Struct:
    """Return ``properties`` as a message."""
    struct = Struct()
    struct.update(properties)
    return struct


def with_secrets(struct: Struct, names: Collection[str]) -> Struct:
    """Return ``struct`` with the properties ``names`` marked as secrets, whether or not they are already."""
    marked = Struct()
    marked.CopyFrom(struct)
    for name in names:
        if name in struct.fields and (value := _from_value(struct.fields[name])) not in (None, UNKNOWN):
            marked.update({name: secret(value)})
    return marked


def has_unknown(value: object) -> bool:
    """Return whether ``value`` is unknown, or contains an unknown value."""
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return value == UNKNOWN


def _from_value(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            return value.number_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            properties = from_struct(value.struct_value)
            return properties.get("value") if properties.get(_SIGNATURE) == _SECRET else properties
        case "list_value":
            return [_from_value(element) for element in value.list_value.values]
        case _:
            return None
