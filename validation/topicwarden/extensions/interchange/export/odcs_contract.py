"""Write a declared topic as a contract of the Open Data Contract Standard, version 3.1.0.

Source: https://bitol-io.github.io/open-data-contract-standard/v3.1.0/. What ODCS has no field for is in the
``customProperties`` of the schema object, where an import reads it: see ``convert/odcs.py``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from topicwarden.extensions.interchange.convert import odcs
from topicwarden.extensions.interchange.convert.odcs_properties import properties_of
from topicwarden.extensions.interchange.convert.odcs_quality import QUALITY, quality
from topicwarden.extensions.interchange.export.exported_topic import ExportedTopic
from topicwarden.extensions.interchange.export.odcs_avro_properties import avro_properties
from topicwarden.model.topic import Topic
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
