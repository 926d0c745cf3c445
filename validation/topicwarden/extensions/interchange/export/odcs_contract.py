"""Write a declared topic as a contract of the Open Data Contract Standard, version 3.1.0.

Source: https://bitol-io.github.io/open-data-contract-standard/v3.1.0/. What ODCS has no field for is in the
``customProperties`` of the schema object, where an import reads it: see ``convert/odcs.py``.

Sources: ``SchemaProperty`` of the Open Data Contract Standard, https://bitol-io.github.io/open-data-contract-standard/;
https://avro.apache.org/docs/1.12.0/specification/. The whole schema is a custom property of the schema object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from topicwarden.extensions.interchange.convert import odcs
from topicwarden.extensions.interchange.convert.odcs_properties import QUALITY, properties_of, quality
from topicwarden.extensions.interchange.export.exported_topic import ExportedTopic
from topicwarden.model.topic import Topic
from topicwarden.specs.record_schemas.avro import PRIMITIVES
from topicwarden.specs.write import explicit_contents

_VERSION: Final = "v3.1.0"


def contract(exported: ExportedTopic) -> dict[str, Any]:
    """Return the contract of one topic."""
    topic = exported.topic
    root: dict[str, Any] = {
        "apiVersion": _VERSION,
        "kind": "DataContract",
        "id": topic.name,
        "name": topic.name,
        "version": "1.0.0",
        "status": "active",
    }
    if topic.owner:
        root["team"] = {"name": topic.owner}
    root["schema"] = [_schema_object(exported)]
    slas = {odcs.RETENTION: topic.retention_time, odcs.FREQUENCY: topic.contents.arrival.max_silence}
    if declared := [_sla(name, time) for name, time in slas.items() if time is not None]:
        root["slaProperties"] = declared
    return root


def _sla(name: str, time: int) -> dict[str, Any]:
    unit = next(unit for unit, size in odcs.UNITS.items() if time % size == 0)
    return {"property": name, "value": time // odcs.UNITS[unit], "unit": unit}


def _schema_object(exported: ExportedTopic) -> dict[str, Any]:
    topic = exported.topic
    found: dict[str, Any] = {"name": topic.name, "physicalName": topic.name, "physicalType": "topic"}
    if topic.description:
        found["description"] = topic.description
    found["customProperties"] = [
        {"property": name, "value": value} for name, value in _custom_properties(exported).items()
    ]
    if properties := _properties(exported):
        found |= {"logicalType": "object", "properties": properties}
    if rules := quality(topic.contents.unique or ()):
        found[QUALITY] = rules
    return found


def _properties(exported: ExportedTopic) -> list[dict[str, Any]]:
    """Return the properties of the values; none for Protobuf and without a schema."""
    form = exported.topic.contents.value.format
    if "value" not in exported.schemas or form not in ("json", "avro"):
        return []
    schema = json.loads(exported.schemas["value"])
    if form == "avro":
        return avro_properties(schema)
    return properties_of(schema) if isinstance(schema, dict) else []


def _custom_properties(exported: ExportedTopic) -> dict[str, Any]:
    topic = exported.topic
    found: dict[str, Any] = {odcs.PARTITIONS: topic.partitions, odcs.REPLICATION_FACTOR: topic.replication_factor}
    if config := _configuration(topic):
        found[odcs.CONFIGURATION] = config
    contents = json.loads(json.dumps(explicit_contents(topic.contents)))
    contents.get("arrival", {}).pop("max_silence", None)  # an SLA
    if quality(topic.contents.unique or ()):
        contents.pop("unique")
    for part, text in exported.schemas.items():
        contents[part].pop("schema")
        is_text = topic.contents.encoding(part).format == "protobuf"
        found[odcs.SCHEMAS[part]] = text if is_text else json.loads(text)
    if contents := {part: value for part, value in contents.items() if value}:
        found[odcs.CONTENTS] = contents
    return found


def _configuration(topic: Topic) -> dict[str, str]:
    """Return the topic's configuration, without a retention time that is an SLA."""
    is_sla = topic.retention_time is not None
    return {name: value for name, value in sorted(topic.config.items()) if not (is_sla and name == "retention.ms")}


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
        # A type that is defined later, or by another subject, may have the name "record" or "array".
        if kind in ("record", "error") and "fields" in schema and (properties := self.fields(schema, namespace)):
            found["properties"] = properties
        elif kind in _NAMED:
            self._define(schema, namespace)
        if kind == "array" and "items" in schema:
            found["items"] = self._type(schema["items"], namespace)
        return found

    def _resolved(self, written: Any, namespace: str) -> Mapping[str, Any]:
        """Return the definition of a type, which may be written as its name."""
        if isinstance(written, dict):
            kind = written["type"]
            known = kind in _LOGICAL_TYPES or kind in (*_NAMED, "bytes", "null")
            return written if known else self._resolved(kind, namespace)
        if written in PRIMITIVES:
            return {"type": written}
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
