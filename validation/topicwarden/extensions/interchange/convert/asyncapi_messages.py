"""Read the contents of a topic from the messages of an AsyncAPI channel: keys, values and headers.

Sources: the Message Object of AsyncAPI 2 and 3; the Message Binding Object,
https://github.com/asyncapi/bindings/blob/master/kafka/README.md#message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from topicwarden.extensions.interchange.convert.references import DRAFT_7, Node, SchemaBundle, json_text
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.model.contents import Contents, RegistryContents
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.validation_errors import first_message

_SCHEMA_FORMATS: Final = (
    (re.compile(r"application/vnd\.apache\.avro\b"), "avro"),
    (re.compile(r"application/(vnd\.aai\.asyncapi\b|schema\+(json|yaml))"), "json"),
    (re.compile(r"application/(vnd\.google\.|x-)?protobuf\b"), "protobuf"),
)
_CONTENT_TYPES: Final = (
    (re.compile(r"application/(json|[\w.-]+\+json)\b"), "json"),
    (re.compile(r"(application|avro)/([\w.-]*avro[\w.-]*|binary)\b"), "avro"),
    (re.compile(r"application/[\w.+-]*protobuf\b"), "protobuf"),
    (re.compile(r"text/plain\b"), "string"),
)
REGISTRY: Final = "x-schema-registry"
"""An extension of a message, which an export writes: what ``registry:`` declares for ``key`` and ``value``."""
_CONFLUENT_ENCODINGS: Final = ("4", "confluent")
"""Values of ``schemaIdPayloadEncoding`` that mean Confluent's wire format: 4 bytes, or the vendor's name."""
_KEY: Final = ("bindings", "kafka", "key")
_AVRO_KINDS: Final = ("record", "enum", "fixed")


@dataclass(frozen=True)
class MessageContents:
    """The contents of a topic, and the schemas that they need."""

    contents: Contents
    schemas: tuple[SchemaText, ...]


@dataclass(frozen=True)
class _Encoding:
    """The encoding of keys or values as one message describes it; ``schema`` is the schema's node."""

    format: str
    schema: Node | None = None
    registry: bool | RegistryContents = False
    draft: str = DRAFT_7


class Message:
    """One message with its traits. In AsyncAPI 3 the message has precedence over its traits, in AsyncAPI 2 it has not.

    Source: "Traits Merge Mechanism" of AsyncAPI 3.0, and ``traits`` of the Message Object of AsyncAPI 2.6.
    """

    def __init__(self, node: Node, version: int) -> None:
        self.node = node
        traits = node.child("traits")
        trait_nodes = [trait for _, trait in traits.children()] if traits else []
        self._sources = [node, *reversed(trait_nodes)] if version > 2 else [*reversed(trait_nodes), node]

    def find(self, *keys: str) -> Node | None:
        """Return the node below the message or one of its traits; None if there is none."""
        return next((found for source in self._sources if (found := source.child(*keys))), None)

    def text(self, *keys: str) -> str | None:
        """Return the text below the message or a trait, and mark it as read in all of them."""
        texts = [text for source in self._sources if (text := source.take_text(*keys)) is not None]
        return texts[0] if texts else None


def read_contents(messages: Sequence[Message], content_type: str | None, reader: TopicReader) -> MessageContents:
    """Return the contents that the messages of one channel describe; note what has no place in a topic's YAML.

    ``content_type`` is the document's default.
    """
    settings: dict[str, Any] = {}
    schemas: list[SchemaText] = []
    encodings = {
        "key": [_key(message, reader) for message in messages],
        "value": [_value(message, content_type, reader) for message in messages],
    }
    for part, found in encodings.items():
        encoding = _common(found, part, messages, reader)
        if encoding is None:
            continue
        schema = _schema(part, encoding, reader)
        if schema:
            schemas.append(schema)
        elif encoding[0].format not in ("json", "string", "uuid") and not encoding[0].registry:
            continue  # Without a schema, these formats cannot be read.
        # Without a schema, somebody else must register one.
        registry = encoding[0].registry if schema else bool(encoding[0].registry)
        settings[part] = {"format": encoding[0].format} | ({"registry": registry} if registry else {})
    if headers := _required_headers(messages, reader):
        settings["headers"] = {"required": headers}
    return MessageContents(Contents.model_validate(settings), tuple(schemas))


def _value(message: Message, default_type: str | None, reader: TopicReader) -> _Encoding | None:
    own_type = message.text("contentType")
    payload, schema_format = _multi_format(message.find("payload"), message.text("schemaFormat"))
    content_type = own_type or default_type
    encoded = _matching(_CONTENT_TYPES, content_type)
    described = _matching(_SCHEMA_FORMATS, schema_format) if schema_format else "json"
    if payload is None or encoded == "string":
        if content_type and encoded not in ("json", "string"):
            reader.note(message.node.location, content_type, "not imported, because this contentType needs a schema")
            return None
        return _Encoding(encoded) if encoded else None
    reason: str | None = None
    if described is None:
        reason = f"the schemaFormat {schema_format} is not supported"
    elif content_type and encoded is None:
        reason = f"the contentType {content_type} is not supported"
    elif encoded is None and described == "json":
        reason = "the message has no contentType, so its format is unknown"
    elif described == "json" != encoded:
        reason = f"a JSON Schema does not say how {encoded} is encoded"
    elif own_type and encoded != described:
        reason = f"the contentType {own_type} is another format than the schema's, {described}"
    if reason or described is None:
        payload.take()
        reader.note(payload.location, _label(message, "payload"), f"not imported, because {reason}")
        return None
    return _Encoding(described, payload, _registry(message, "value", reader), _draft(schema_format))


def _draft(schema_format: str | None) -> str:
    """Return the ``$schema`` of JSON Schemas with this ``schemaFormat``. Schemas of AsyncAPI itself are draft 7."""
    version = re.search(r"schema\+(?:json|yaml);version=(20[0-9-]+)", schema_format or "")
    return f"https://json-schema.org/draft/{version[1]}/schema" if version else DRAFT_7


def _multi_format(schema: Node | None, schema_format: str | None) -> tuple[Node | None, str | None]:
    """Return the schema and its format; both are below a Multi Format Schema Object of AsyncAPI 3."""
    if schema and isinstance(schema.value, dict) and {"schemaFormat", "schema"} <= schema.value.keys():
        return schema.child("schema"), schema.take_text("schemaFormat")
    return schema, schema_format


def _key(message: Message, reader: TopicReader) -> _Encoding | None:
    key, schema_format = _multi_format(message.find(*_KEY), None)
    message.text("bindings", "kafka", "bindingVersion")
    if key is None:
        return None
    schema = key.value if isinstance(key.value, dict) else {}
    kind, described = schema.get("type"), _matching(_SCHEMA_FORMATS, schema_format)
    if described not in ("avro", "protobuf") and kind == "string":
        is_uuid = schema.get("format") == "uuid" and key.take_text("format")
        key.take_text("type")
        return _Encoding("uuid" if is_uuid else "string")
    if kind in _AVRO_KINDS and "name" in schema:
        described = "avro"
    if described in ("avro", "protobuf") or kind == "object":
        return _Encoding(described or "json", key, _registry(message, "key", reader), _draft(schema_format))
    reason = "not imported, because the schema of the key does not say how the key is encoded"
    reader.note(key.location, _label(message, "key"), reason)
    key.take()
    return None


def _registry(message: Message, part: str, reader: TopicReader) -> bool | RegistryContents:
    """Return ``registry:`` of the keys or values, from the extension of an export, or else from the binding."""
    if message.find(REGISTRY) is None:
        return _has_registry(message, reader)
    for key in ("schemaIdLocation", "schemaIdPayloadEncoding", "schemaLookupStrategy"):
        message.text("bindings", "kafka", key)
    node = message.find(REGISTRY, part)
    written = node.take() if node else None
    if node is None or isinstance(written, bool):
        return bool(written)
    try:
        return RegistryContents.model_validate(written)
    except ValidationError as error:
        reader.add_problem(node.location, first_message(error, REGISTRY, part), "value")
        return True


def _has_registry(message: Message, reader: TopicReader) -> bool:
    """Return whether a record begins with a schema id in Confluent's wire format."""
    location = message.text("bindings", "kafka", "schemaIdLocation")
    encoding = message.find("bindings", "kafka", "schemaIdPayloadEncoding")
    if location is None or encoding is None:
        return False
    written = str(encoding.take())
    if location == "payload" and written in _CONFLUENT_ENCODINGS:
        return True
    reason = "not imported, because only Confluent's wire format is supported"
    reader.note(encoding.location, f"schema ids in the {location} ({written})", reason)
    return False


def _common(
    found: Sequence[_Encoding | None], part: str, messages: Sequence[Message], reader: TopicReader
) -> list[_Encoding] | None:
    """Return the different encodings of all messages, if they can be one setting of the topic; else note that."""
    known = [encoding for encoding in found if encoding]
    distinct = list(dict.fromkeys(known))
    alike = {(encoding.format, encoding.registry, encoding.schema is None) for encoding in distinct}
    joinable = len(distinct) == 1 or (len(alike) == 1 and distinct[0].format == "json" and part == "value")
    if known and len(known) == len(found) and joinable:
        return distinct
    for message, encoding in zip(messages, found, strict=True):
        if encoding:
            label, location = _label(message, "payload" if part == "value" else part), message.node.location
            if encoding.schema:
                encoding.schema.take()
            reader.note(location, label, "not imported, because the messages of one channel have different formats")
    return None


def _schema(part: str, encodings: Sequence[_Encoding], reader: TopicReader) -> SchemaText | None:
    """Return the schema of a topic's keys or values; note a schema that the audit could not use."""
    nodes = [encoding.schema for encoding in encodings if encoding.schema]
    first = encodings[0]
    if not nodes:
        return None
    name = ".".join(map(str, nodes[0].path))
    registered = first.registry if isinstance(first.registry, RegistryContents) else None
    if first.registry and not registered and first.format != "avro":
        for node in nodes:
            node.take()
        reader.note(nodes[0].location, name, "not imported, because the schema registry has the schema")
        return None
    text = _schema_text(first, nodes)
    references = tuple((each.name, None) for each in registered.references or ()) if registered else None
    error = COMPILERS[first.format](text, "", references) if text is not None else "has a reference that leads nowhere"
    if text is None or error:
        for node in nodes:
            node.take()
        reader.note(nodes[0].location, name, f"not imported, because the schema {error}")
        return None
    return SchemaText(part, first.format, text)


def _schema_text(encoding: _Encoding, nodes: list[Node]) -> str | None:
    try:
        if encoding.format == "json":
            return SchemaBundle(encoding.draft).text(nodes)
        value = nodes[0].take()
        if encoding.format == "protobuf":
            return value if isinstance(value, str) else ""
        return json_text(value)
    except ValueError:
        return ""


def _required_headers(messages: Sequence[Message], reader: TopicReader) -> list[str]:
    """Return the headers that all messages require; note those that only some require."""
    by_message: list[tuple[Message, list[str]]] = []
    for message in messages:
        required = message.find("headers", "required")
        items = [item for _, item in required.children()] if required and isinstance(required.value, list) else []
        message.text("headers", "type")
        texts = [item for item in items if isinstance(item.value, str) and item.value]
        by_message.append((message, list(dict.fromkeys(item.take() for item in texts))))
    common = [name for name in by_message[0][1] if all(name in names for _, names in by_message)] if by_message else []
    for message, names in by_message:
        for name in names:
            if name not in common:
                reason = "not imported, because not all messages of the channel require these headers"
                reader.note(message.node.location, name, reason)
    return common


def _matching(table: Sequence[tuple[re.Pattern[str], str]], text: str | None) -> str | None:
    return next((name for pattern, name in table if text and pattern.match(text.strip().lower())), None)


def _label(message: Message, part: str) -> str:
    return ".".join(map(str, (*message.node.path, part)))


def messages_of(node: Node | None, version: int) -> Iterator[Message]:
    """Yield the messages of a channel (AsyncAPI 3) or of an operation (AsyncAPI 2)."""
    if node is None:
        return
    if version > 2:
        yield from (Message(message, version) for _, message in node.children())
        return
    alternatives = node.child("oneOf")
    yield from (Message(m, version) for _, m in alternatives.children()) if alternatives else [Message(node, version)]
