"""Read contracts of the Open Data Contract Standard, version 3: each schema object that is a topic.

Sources: https://bitol-io.github.io/open-data-contract-standard/v3.1.0/. ODCS has no fields for the partitions and the
configuration of a topic. They are read from the ``customProperties`` of the schema object: ``partitions``,
``replicationFactor`` and ``topicConfiguration``. An export also writes ``contents``, ``keySchema`` and ``valueSchema``.

The SLA ``retention`` is ``retention.ms``, ``frequency`` is ``contents.arrival.max_silence``, and the library metric
``duplicateValues`` is ``contents.unique``. Of properties, ``nullValues`` and ``invalidValues`` are rules of the schema:
see ``odcs_quality``. Other SLAs and quality rules are reported by name: ``latency`` is the time from an event to its
record, which a topic does not have, and the library metric ``rowCount`` counts all rows, where ``contents.arrival``
counts those of a period.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from topicwarden.extensions.interchange.convert.odcs_properties import json_schema, with_unique
from topicwarden.extensions.interchange.convert.references import Node, ReferencingDocument, json_text
from topicwarden.extensions.interchange.convert.source_file import SourceFile, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    SettingValues,
    TopicValues,
    add_topic,
    one_line,
    paragraphs,
    take_number,
    take_settings,
)
from topicwarden.model.contents import Contents
from topicwarden.model.field_types import LONGEST_PERIOD
from topicwarden.model.problem import Location
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.record_schemas.referenced_schemas import References
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.validation_errors import first_message

PARTITIONS: Final = "partitions"
REPLICATION_FACTOR: Final = "replicationFactor"
CONFIGURATION: Final = "topicConfiguration"
CONTENTS: Final = "contents"
SCHEMAS: Final = {"key": "keySchema", "value": "valueSchema"}
RETENTION: Final = "retention"
FREQUENCY: Final = "frequency"
_CUSTOM: Final = (PARTITIONS, REPLICATION_FACTOR, CONFIGURATION, CONTENTS, *SCHEMAS.values())
_KIND: Final = "DataContract"
_DEFAULT_FORMAT: Final = "json"
_RETIRED: Final = "retired"
UNITS: Final = {
    "d": 86_400_000,
    "h": 3_600_000,
    "min": 60_000,
    "s": 1_000,
    "ms": 1,
}
"""Milliseconds of each unit. A year is 365 days."""
_UNIT_NAMES: Final = (
    UNITS
    | dict.fromkeys(("day", "days"), UNITS["d"])
    | dict.fromkeys(("y", "yr", "year", "years"), 365 * UNITS["d"])
    | dict.fromkeys(("hr", "hour", "hours"), UNITS["h"])
    | dict.fromkeys(("minute", "minutes"), UNITS["min"])
    | dict.fromkeys(("second", "seconds"), UNITS["s"])
)


def recognises(source: SourceFile) -> bool:
    return any(
        isinstance(document.value, dict) and document.value.get("kind") == _KIND and "apiVersion" in document.value
        for document in source.documents
    )


def read(reader: TopicReader) -> None:
    for fields in reader.documents():
        contract = ReferencingDocument(fields, reader.source, reader).root
        version, location = fields.take(("apiVersion",))
        fields.take(("kind",))
        if str(version).startswith("v3."):
            _Contract(contract, reader).read()
        else:
            fields.take(())
            reader.add_problem(location, f"apiVersion: expected v3.x.y, got {shown_value(version)}", "value")


class _Contract:
    """One data contract."""

    def __init__(self, root: Node, reader: TopicReader) -> None:
        self._root = root
        self._reader = reader

    def read(self) -> None:
        listed = self._root.child("schema")
        servers = self._root.child("servers")
        kafka = [server for _, server in servers.children() if _is_kafka(server)] if servers else []
        objects = [item for _, item in listed.children()] if listed else []
        status = self._root.child("status")
        if status and str(status.value).lower() == _RETIRED:
            location = status.location
            self._root.take()
            self._reader.exclude(location, "schema", "the contract is retired, so not imported")
            return
        topics = [item for item in objects if self._is_topic(item, kafka)]
        if not objects:
            self._reader.exclude(
                self._root.location, "schema", "not imported, because the contract has no schema object"
            )
            return
        for server in kafka if topics else ():
            server.take_text("type")
        formats = [server.take_text("format") or _DEFAULT_FORMAT for server in kafka] if topics else []
        owner, retention = (self._owner(), self._retention(topics)) if topics else (None, {})
        frequency = self._sla(FREQUENCY, topics, range(1, LONGEST_PERIOD + 1)) if topics else None
        for item in topics:
            self._topic(item, formats, owner, retention, frequency)

    def _is_topic(self, item: Node, kafka: list[Node]) -> bool:
        """Return whether a schema object is a topic; note one that is not."""
        kind = item.child("physicalType")
        if kind and str(kind.value).lower() == "topic":
            kind.take()
            return True
        if kafka and kind is None:
            return True
        name = item.child("name")
        item.take()
        reason = "not imported, because these schema objects are no Kafka topics (physicalType: topic)"
        self._reader.exclude(item.location, name.value if name else "schema object", reason)
        return False

    def _topic(
        self,
        item: Node,
        formats: list[str],
        owner: str | None,
        retention: SettingValues,
        frequency: tuple[int, Location] | None,
    ) -> None:
        name, physical_name = item.child("name"), item.child("physicalName")
        named = physical_name or name
        if named:
            named.take()
        item.take_text("logicalType")
        custom = self._custom(item)
        config = self._configuration(custom.get(CONFIGURATION))
        for setting, values in retention.items():
            if setting in config:
                message = f"{setting} and the SLA {RETENTION} set the same configuration; keep one"
                self._reader.add_problem(values[1], message, "value")
        if custom.keys() & {CONTENTS, *SCHEMAS.values()}:
            contents, schemas = self._own_contents(item, custom)
        else:
            contents, schemas = self._contents(item, formats)
        contents = with_unique(contents, item)
        add_topic(
            self._reader,
            TopicValues(
                name_field=(named.value, named.location) if named else (None, item.location),
                counts={
                    "partitions": self._count(custom.get(PARTITIONS), item),
                    "replication factor": self._count(custom.get(REPLICATION_FACTOR), item),
                },
                config=retention | config,
                description=paragraphs(item.take_text("description")),
                owner=owner,
                contents=self._with_frequency(contents, frequency),
                schemas=schemas,
            ),
        )

    def _custom(self, item: Node) -> dict[str, Node]:
        """Return the values of the custom properties that describe a topic."""
        found: dict[str, Node] = {}
        properties = item.child("customProperties")
        for _, custom in properties.children() if properties else ():
            name, value = custom.child("property"), custom.child("value")
            if name and value and name.value in _CUSTOM:
                name.take()
                if name.value in found:
                    message = f"the custom property {name.value} is declared twice; keep one"
                    self._reader.add_problem(name.location, message, "value")
                found[str(name.value)] = value
        return found

    def _count(self, node: Node | None, item: Node) -> tuple[Any, Location]:
        return take_number(node.document.fields, node.path, self._reader) if node else (None, item.location)

    def _configuration(self, node: Node | None) -> SettingValues:
        return take_settings(node.document.fields, node.path, self._reader) if node else {}

    def _owner(self) -> str | None:
        """Return the team of the contract; before version 3.1, the only current member with the role of owner."""
        team = self._root.child("team")
        if team is None or isinstance(team.value, dict):
            return one_line(team.take_text("name")) if team else None
        owners = [
            member
            for _, member in team.children()
            if _text(member, "role").lower() == "owner" and member.child("dateOut") is None
        ]
        if len(owners) != 1:
            return None
        owners[0].take_text("role")
        return one_line(owners[0].take_text("username"))

    def _sla(self, name: str, topics: list[Node], valid: range | None = None) -> tuple[int, Location] | None:
        """Return the milliseconds of the SLA ``name`` that applies to all topics of the contract, and its location."""
        listed = self._root.child("slaProperties")
        found: tuple[int, Location] | None = None
        for _, sla in listed.children() if listed else ():
            if _text(sla, "property").lower() != name:
                continue
            element, value, unit = _text(sla, "element"), sla.child("value"), _text(sla, "unit").strip().lower()
            names = {_text(topic, key) for topic in topics for key in ("name", "physicalName")}
            number = value.value if value else None
            is_number = isinstance(number, int) and not isinstance(number, bool) and number >= 0
            if valid is not None and isinstance(number, int):
                is_number = is_number and number * _UNIT_NAMES.get(unit, 0) in valid
            if (element and (len(topics) > 1 or element not in names)) or not is_number or unit not in _UNIT_NAMES:
                reason = "not imported, because it is not one time for a whole topic, as a number of d, h, min, s or ms"
                label = f"slaProperties[] {name}" + (f" of {element}" if element else "")
                self._reader.note(sla.location, label, reason)
                sla.take()
            elif found:
                self._reader.add_problem(sla.location, f"the SLA {name} is declared twice; keep one", "value")
            elif value and value.value * _UNIT_NAMES[unit] >= 2**63:
                sla.take()
                message = f"the SLA {name}: expected at most {2**63 - 1} ms, got {value.value} {unit}"
                self._reader.add_problem(value.location, message, "value")
            elif value:
                for key in ("property", "value", "unit", "element"):
                    sla.document.fields.take((*sla.path, key))
                found = value.value * _UNIT_NAMES[unit], value.location
        return found

    def _retention(self, topics: list[Node]) -> SettingValues:
        found = self._sla(RETENTION, topics)
        return {"retention.ms": (found[0], found[1], found[1])} if found else {}

    def _with_frequency(self, contents: Contents, frequency: tuple[int, Location] | None) -> Contents:
        """Return the contents with the SLA ``frequency``: data arrives at least once in this time."""
        if frequency is None:
            return contents
        silence, location = frequency
        if contents.arrival.max_silence is not None:
            message = f"contents.arrival.max_silence and the SLA {FREQUENCY} say the same; keep one"
            self._reader.add_problem(location, message, "value")
        arrival = contents.arrival.model_copy(update={"max_silence": silence})
        return contents.model_copy(update={"arrival": arrival})

    def _own_contents(self, item: Node, custom: dict[str, Node]) -> tuple[Contents, tuple[SchemaText, ...]]:
        """Return the contents of a topic and its schemas, as an export writes them."""
        declared = custom[CONTENTS].take() if CONTENTS in custom else {}
        try:
            contents = Contents.model_validate(declared)
        except ValidationError as error:
            self._reader.add_problem(custom[CONTENTS].location, first_message(error, "contents"), "value")
            return Contents(), ()
        schemas: list[SchemaText] = []
        for part in SCHEMAS:
            if contents.encoding(part).schema_file:
                message = f"contents.{part}.schema: expected no file; write the schema as {SCHEMAS[part]}"
                self._reader.add_problem(custom[CONTENTS].location, message, "value")
        for part, name in SCHEMAS.items():
            if name not in custom:
                continue
            schema, schema_format = custom[name].take(), contents.encoding(part).format
            text = schema if isinstance(schema, str) else json_text(schema)
            if schema_format is None or schema_format not in COMPILERS:
                message = f"{name}: records of the format {schema_format} have no schema; delete it"
                self._reader.add_problem(custom[name].location, message, "value")
            elif schema_error := COMPILERS[schema_format](text, "", _references(contents, part)):
                self._reader.add_problem(custom[name].location, f"{name} {schema_error}", "value")
            else:
                schemas.append(SchemaText(part, schema_format, text))
        if "valueSchema" in custom and (properties := item.child("properties")):
            properties.take()
        return contents, tuple(schemas)

    def _contents(self, item: Node, formats: list[str]) -> tuple[Contents, tuple[SchemaText, ...]]:
        """Return the contents of a topic. Only JSON is described by properties; Avro needs its own schema."""
        properties = item.child("properties")
        distinct = sorted(set(formats))
        if distinct != [_DEFAULT_FORMAT]:
            if properties:
                properties.take()
            encoding_text = " and ".join(distinct) or "unknown"
            reason = f"properties are imported for the format json only; here it is {encoding_text}, so not imported"
            self._reader.note(item.location, f"the format and the properties of {_text(item, 'name')}", reason)
            return Contents(), ()
        if properties is None or not properties.value:
            return Contents.model_validate({"value": {"format": "json"}}), ()
        contents = Contents.model_validate({"value": {"format": "json"}})
        return contents, (SchemaText("value", "json", json_text(json_schema(item))),)


def _references(contents: Contents, part: str) -> References | None:
    """Return the names of what the schema of ``part`` refers to, if a deploy registers it."""
    registered = contents.encoding(part).registered
    return tuple((each.name, None) for each in registered.references or ()) if registered else None


def _is_kafka(server: Node) -> bool:
    return _text(server, "type").lower() == "kafka"


def _text(node: Node, key: str) -> str:
    child = node.child(key)
    return child.value if child and isinstance(child.value, str) else ""
