"""Write declared topics as an AsyncAPI 3.0 document, with Kafka bindings 0.5.0.

Sources: https://www.asyncapi.com/docs/reference/specification/v3.0.0;
https://github.com/asyncapi/bindings/blob/master/kafka/README.md. The document is self-contained, except for schemas in
other subjects of the Schema Registry: ``x-schema-registry`` of a message has what ``registry:`` declares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.extensions.interchange.convert.asyncapi import OWNER
from topicwarden.extensions.interchange.convert.asyncapi_messages import REGISTRY
from topicwarden.extensions.interchange.convert.references import DRAFT_7
from topicwarden.extensions.interchange.export.exported_topic import ExportedTopic, LostSetting
from topicwarden.kafka_facts import configs
from topicwarden.model.compatibility import SubjectStrategy
from topicwarden.model.contents import EncodedContents, RegistryContents

BINDING_VERSION: Final = "0.5.0"
_VERSION: Final = "3.0.0"
_CONTENT_TYPES: Final = {
    "json": "application/json",
    "avro": "application/avro",
    "protobuf": "application/protobuf",
    "string": "text/plain",
}
_SCHEMA_FORMATS: Final = {
    "avro": "application/vnd.apache.avro;version=1.9.0",
    "protobuf": "application/vnd.google.protobuf;version=3",
}
_KEY_SCHEMAS: Final = {"string": {"type": "string"}, "uuid": {"type": "string", "format": "uuid"}}
_NOT_EMBEDDED: Final = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "id")
"""Keywords with which a JSON Schema cannot become a part of another document."""


_STRATEGIES: Final = {
    SubjectStrategy.TOPIC: "TopicNameStrategy",
    SubjectStrategy.RECORD: "RecordNameStrategy",
    SubjectStrategy.TOPIC_RECORD: "TopicRecordNameStrategy",
}
"""The names of Confluent's strategies, without their package."""


_NO_URL: Final = "AsyncAPI needs the URL of the Schema Registry, and the stack's settings do not show one"


@dataclass(frozen=True)
class KafkaServer:
    """The cluster and the Schema Registry of a stack. ``tls``: clients connect with TLS."""

    host: str
    registry_url: str
    tls: bool = False


def document(
    title: str, topics: Sequence[ExportedTopic], server: KafkaServer | None = None
) -> tuple[dict[str, Any], list[LostSetting]]:
    """Return the document of ``topics``, and the settings that AsyncAPI has no place for.

    Without ``server``, it has nothing about the Schema Registry: AsyncAPI then allows no schema ids.
    """
    channels: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    lost: list[LostSetting] = []
    for exported in topics:
        channels[exported.topic.name] = channel = _channel(exported, schemas, with_registry=server is not None)
        lost += _lost(exported, channel, with_registry=server is not None)
    root: dict[str, Any] = {"asyncapi": _VERSION, "info": {"title": title, "version": "1.0.0"}}
    if server and any(_registries(exported) for exported in topics):
        root["servers"] = {"kafka": _server(server)}
    root["channels"] = channels
    return root | ({"components": {"schemas": schemas}} if schemas else {}), lost


def _server(server: KafkaServer) -> dict[str, Any]:
    registry = {"schemaRegistryUrl": server.registry_url, "schemaRegistryVendor": "confluent"}
    return {
        "host": server.host,
        "protocol": "kafka-secure" if server.tls else "kafka",
        "bindings": {"kafka": registry | {"bindingVersion": BINDING_VERSION}},
    }


def _registries(exported: ExportedTopic) -> dict[str, Any]:
    """Return ``registry:`` of the keys and values that have a schema id, as in YAML."""
    found: dict[str, Any] = {}
    for part in ("key", "value"):
        declared = exported.topic.contents.encoding(part)
        if declared.registered:
            found[part] = declared.registered.model_dump(mode="json", exclude_defaults=True)
        elif declared.registry:
            found[part] = True
    return found


def _registry_binding(exported: ExportedTopic) -> dict[str, Any]:
    declared = exported.topic.contents.value.registered or exported.topic.contents.key.registered or RegistryContents()
    binding = {"schemaIdLocation": "payload", "schemaIdPayloadEncoding": "confluent"}
    if declared.subject is None:
        binding["schemaLookupStrategy"] = _STRATEGIES[declared.strategy or SubjectStrategy.TOPIC]
    return binding


def _channel(exported: ExportedTopic, schemas: dict[str, Any], *, with_registry: bool) -> dict[str, Any]:
    topic = exported.topic
    channel: dict[str, Any] = {"address": topic.name}
    channel |= {key: text for key, text in (("description", topic.description), (OWNER, topic.owner)) if text}
    message = _message(exported, schemas, with_registry=with_registry)
    if message:
        channel["messages"] = {"record": message}
    binding: dict[str, Any] = {"partitions": topic.partitions, "replicas": topic.replication_factor}
    if topic.config:
        binding["topicConfiguration"] = {name: _typed(name, value) for name, value in sorted(topic.config.items())}
    channel["bindings"] = {"kafka": binding | {"bindingVersion": BINDING_VERSION}}
    return channel


def _typed(name: str, value: str) -> int | bool | str | list[str]:
    definition = configs.definition(name)
    kind = definition.type if definition else "string"
    if kind == "list":
        return value.split(",") if value else []
    if kind in ("int", "long", "short"):
        return int(value)
    return value == "true" if kind == "boolean" else value


def _message(exported: ExportedTopic, schemas: dict[str, Any], *, with_registry: bool) -> dict[str, Any]:
    contents, message = exported.topic.contents, dict[str, Any]()
    if contents.headers.required:
        message["headers"] = {"type": "object", "required": list(contents.headers.required)}
    payload = _value_schema(exported, schemas)
    if payload or (contents.value.format in ("json", "string") and not contents.value.registry):
        message["contentType"] = _CONTENT_TYPES[contents.value.format or ""]
    if payload:
        message["payload"] = payload
    key = _key_schema(exported)
    binding = {"key": key} if key else dict[str, Any]()
    described = {"key": key, "value": payload}
    registries = {part: each for part, each in _registries(exported).items() if described[part]}
    if with_registry and registries:
        binding |= _registry_binding(exported)
        message[REGISTRY] = registries
    if binding:
        message["bindings"] = {"kafka": binding | {"bindingVersion": BINDING_VERSION}}
    return message


def _value_schema(exported: ExportedTopic, schemas: dict[str, Any]) -> dict[str, Any] | None:
    """Add the schema of the values to ``schemas``, and return a reference; None if there is none."""
    name = f"{exported.topic.name}-value"
    schema = _schema(exported, "value", f"#/components/schemas/{name}")
    if schema is None:
        return None
    schemas[name] = schema
    return {"$ref": f"#/components/schemas/{name}"}


def _key_schema(exported: ExportedTopic) -> dict[str, Any] | None:
    """Return the schema of the keys; None if AsyncAPI has no schema for their format."""
    if simple := _KEY_SCHEMAS.get(exported.topic.contents.key.format or ""):
        return dict(simple)
    schema = _schema(exported, "key", f"#/channels/{exported.topic.name}/messages/record/bindings/kafka/key")
    if schema is None or exported.topic.contents.key.format != "json":
        return schema
    described = schema["schema"] if "schemaFormat" in schema else schema
    # An import reads a JSON Schema as one of JSON keys only if the keys are objects.
    return schema if described.get("type") == "object" else None


def _schema(exported: ExportedTopic, part: str, pointer: str) -> dict[str, Any] | None:
    """Return the schema of ``part`` for the place ``pointer`` of the document; None if it cannot be a part of it."""
    declared: EncodedContents = exported.topic.contents.encoding(part)
    text = exported.schemas.get(part)
    has_references = bool(declared.registered and declared.registered.references)
    # The reference of a JSON Schema names a subject, and would lead to a file of the document here.
    if text is None or declared.message or (has_references and declared.format == "json"):
        return None
    if declared.format == "protobuf":
        return {"schemaFormat": _SCHEMA_FORMATS["protobuf"], "schema": text}
    schema = json.loads(text)
    if declared.format == "avro":
        return {"schemaFormat": _SCHEMA_FORMATS["avro"], "schema": schema}
    if not isinstance(schema, dict) or _has_keyword(schema):
        return None
    if schema.get("$schema") == DRAFT_7:
        return dict(_prefixed({key: value for key, value in schema.items() if key != "$schema"}, pointer))
    draft = f"application/schema+json;version={_draft(schema)}"
    return {"schemaFormat": draft, "schema": _prefixed(schema, f"{pointer}/schema")}


def _draft(schema: Mapping[str, Any]) -> str:
    written = str(schema.get("$schema", "https://json-schema.org/draft/2020-12/schema"))
    return written.removesuffix("#").removesuffix("/schema").rpartition("/")[2]


def _has_keyword(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key in _NOT_EMBEDDED and isinstance(item, str) for key, item in value.items()) or any(
            map(_has_keyword, value.values())
        )
    return isinstance(value, list) and any(map(_has_keyword, value))


def _prefixed(value: Any, prefix: str) -> Any:
    """Return a schema whose references to itself have a prefix."""
    if isinstance(value, list):
        return [_prefixed(item, prefix) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{prefix}{item[1:]}"
        if key == "$ref" and isinstance(item, str) and item.startswith("#")
        else _prefixed(item, prefix)
        for key, item in value.items()
    }


def _lost(exported: ExportedTopic, channel: Mapping[str, Any], *, with_registry: bool) -> Iterator[LostSetting]:
    message = channel.get("messages", {}).get("record", {})
    kept = {("headers", "required")}
    if "contentType" in message:
        kept.add(("value", "format"))
    if "payload" in message:
        kept.add(("value", "schema"))
    if "key" in message.get("bindings", {}).get("kafka", {}):
        kept |= {("key", "format"), ("key", "schema")}
    # Without a schema, a part has no place for its registry either.
    registries = [part for part in _registries(exported) if (part, "schema") in kept]
    kept |= {(part, "registry") for part in registries}
    for part in () if with_registry else registries:
        path = ("contents", part, "registry")
        yield LostSetting(exported.declaration.locations.at(path), ".".join(path), _NO_URL)
    yield from exported.lost_settings(kept)
