"""Describe the fields of an Avro record as properties of an ODCS schema object, as far as ODCS can describe them.

Sources: ``SchemaProperty`` of the Open Data Contract Standard, https://bitol-io.github.io/open-data-contract-standard/;
https://avro.apache.org/docs/1.12.0/specification/. The whole schema is a custom property of the schema object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_LOGICAL_TYPES: Final = {
    "string": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
    "enum": "string",
    "array": "array",
    "map": "object",
    "record": "object",
    "error": "object",
    "date": "date",
    "time-millis": "time",
    "time-micros": "time",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "timestamp-nanos": "timestamp",
    "local-timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp",
    "local-timestamp-nanos": "timestamp",
    "uuid": "string",
    "decimal": "number",
}
"""ODCS's logical types by Avro's types and logical types. ODCS has none for bytes, and none for a union."""
_NAMED: Final = ("record", "error", "enum", "fixed")


def avro_properties(schema: Any) -> list[dict[str, Any]]:
    """Return the properties of an Avro schema that compiles; none if it is no record.

    A field is required unless it may be null. A type of another subject is described by its name only.
    """
    return _Types().fields(schema) if isinstance(schema, dict) and schema.get("type") in ("record", "error") else []


class _Types:
    """The named types that were defined so far, and those that are being described, which can contain themselves."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any]] = {}
        self._open: list[str] = []

    def fields(self, record: Mapping[str, Any], namespace: str = "") -> list[dict[str, Any]]:
        """Return the properties of a record within ``namespace``."""
        name, namespace = self._define(record, namespace)
        if name in self._open:
            return []
        self._open.append(name)
        properties = [self._property(each, namespace) for each in record["fields"]]
        self._open.pop()
        return properties

    def _property(self, field: Mapping[str, Any], namespace: str) -> dict[str, Any]:
        written = field["type"]
        branches = written if isinstance(written, list) else [written]
        values = [branch for branch in branches if branch != "null"]
        found = (
            self._type(values[0], namespace) if len(values) == 1 else {"physicalType": "union" if values else "null"}
        )
        required = {"required": True} if len(values) == len(branches) else {}
        description = {"description": field["doc"]} if isinstance(field.get("doc"), str) and field["doc"] else {}
        return {"name": field["name"], **found, **description, **required}

    def _type(self, written: Any, namespace: str) -> dict[str, Any]:
        if isinstance(written, list):
            return {"physicalType": "union"}
        schema = self._resolved(written, namespace)
        kind = str(schema["type"])
        physical = str(schema.get("logicalType", kind))
        logical = _LOGICAL_TYPES.get(physical) or _LOGICAL_TYPES.get(kind)
        found: dict[str, Any] = {"logicalType": logical} if logical else {}
        found["physicalType"] = physical
        if kind in ("record", "error") and (properties := self.fields(schema, namespace)):
            found["properties"] = properties
        elif kind in _NAMED:
            self._define(schema, namespace)
        if kind == "array":
            found["items"] = self._type(schema["items"], namespace)
        return found

    def _resolved(self, written: Any, namespace: str) -> Mapping[str, Any]:
        """Return the definition of a type, which may be written as its name."""
        if isinstance(written, dict):
            kind = written["type"]
            known = kind in _LOGICAL_TYPES or kind in (*_NAMED, "bytes", "null")
            return written if known else self._resolved(kind, namespace)
        name = written if "." in written or not namespace else f"{namespace}.{written}"
        return self._known.get(name) or self._known.get(written) or {"type": written}

    def _define(self, schema: Mapping[str, Any], namespace: str) -> tuple[str, str]:
        """Remember a named type. Return its full name, and the namespace of the types in it."""
        if "name" not in schema:
            return "", namespace
        name, namespace = str(schema["name"]), str(schema.get("namespace", namespace))
        if "." in name:
            namespace = name.rpartition(".")[0]
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        self._known[full_name] = {**schema, "namespace": namespace}
        return full_name, namespace
