"""Read AsyncAPI documents, versions 2 and 3: each Kafka channel is a topic.

Sources: https://www.asyncapi.com/docs/reference/specification/v3.0.0 and v2.6.0; the Kafka bindings, version 0.5.0,
https://github.com/asyncapi/bindings/blob/master/kafka/README.md. ``x-owner`` is an extension of topicwarden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from topicwarden.extensions.interchange.convert.asyncapi_messages import messages_of, read_contents
from topicwarden.extensions.interchange.convert.references import Node, ReferencingDocument
from topicwarden.extensions.interchange.convert.source_file import SourceFile, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    SettingValues,
    TopicValues,
    add_topic,
    one_line,
    paragraphs,
    report_unknown_keys,
    take_counts,
    take_settings,
)
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath

OWNER: Final = "x-owner"
_VERSION: Final = re.compile(r"([23])\.\d+\.\d+.*")
_PROTOCOLS: Final = ("kafka", "kafka-secure")
_PARAMETERS: Final = "not imported, because an address with parameters is the name of several topics"
_UNNAMED: Final = "not imported, because a channel without an address, and without a topic in its binding, has no name"
_BINDING: Final = ("topic", "partitions", "replicas", "topicConfiguration", "bindingVersion")


def recognises(source: SourceFile) -> bool:
    return any(isinstance(document.value, dict) and "asyncapi" in document.value for document in source.documents)


def read(reader: TopicReader) -> None:
    for fields in reader.documents():
        document = ReferencingDocument(fields, reader.source, reader).root
        written, location = fields.take(("asyncapi",))
        version = _VERSION.fullmatch(str(written))
        if version:
            _Document(document, int(version[1]), reader).read()
        else:
            fields.take(())
            reader.add_problem(location, f"asyncapi: expected 2.x.y or 3.x.y, got {shown_value(written)}", "value")


class _Document:
    """One AsyncAPI document of the major ``version``."""

    def __init__(self, root: Node, version: int, reader: TopicReader) -> None:
        self._root = root
        self._version = version
        self._reader = reader
        self._content_type = root.take_text("defaultContentType")
        servers = root.child("servers")
        self._protocols = {name: server.take_text("protocol") for name, server in servers.children()} if servers else {}

    def read(self) -> None:
        channels = self._root.child("channels")
        if channels is None or not channels.value:
            self._reader.exclude(self._root.location, "channels", "this document declares no channel")
            return
        self._take_operations()
        for name, channel in channels.children():
            self._channel(str(name), channel)

    def _take_operations(self) -> None:
        """Mark what an operation repeats of its channel as read; the rest of the operation is not imported."""
        operations = self._root.child("operations")
        for _, operation in operations.children() if operations else ():
            _take_references(operation, (*operation.path, "channel"))
            _take_references(operation, (*operation.path, "messages"))

    def _channel(self, name: str, channel: Node) -> None:
        binding = channel.child("bindings", "kafka")
        topic, location = self._topic(name, channel, binding)
        if reason := self._exclusion(channel, binding):
            channel.take()
            self._reader.exclude(location, name, reason)
            return
        if topic is None or (isinstance(topic, str) and "{" in topic):
            channel.take()
            self._reader.leave_out(location, name, _UNNAMED if topic is None else _PARAMETERS)
            return
        if not self._reader.is_on_cluster(self._clusters(channel), location, name):
            channel.take()
            return
        messages = [message for source in self._message_sources(channel) for message in source]
        found = read_contents(messages, self._content_type, self._reader)
        text = paragraphs(channel.take_text("description"))
        counts, config = self._binding(binding, channel)
        add_topic(
            self._reader,
            TopicValues(
                name_field=(topic, location),
                counts=counts,
                config=config,
                description=text,
                owner=one_line(channel.take_text(OWNER)),
                contents=found.contents,
                schemas=found.schemas,
            ),
        )

    def _message_sources(self, channel: Node) -> Iterator[Any]:
        if self._version > 2:
            yield messages_of(channel.child("messages"), self._version)
        else:
            for operation in ("publish", "subscribe"):
                yield messages_of(channel.child(operation, "message"), self._version)

    def _topic(self, name: str, channel: Node, binding: Node | None) -> tuple[Any, Location]:
        """Return the name of the channel's topic, and its location."""
        address = channel.child("address") if self._version > 2 else None
        topic = binding.child("topic") if binding else None
        for node in (address, topic):
            if node:
                node.take()
        named = topic or address
        if named:
            return named.value, named.location
        return name if self._version < 3 else None, channel.location

    def _clusters(self, channel: Node) -> list[str]:
        """Return the servers for Kafka that the channel names, if the document has several."""
        kafka = [name for name, protocol in self._protocols.items() if str(protocol).lower() in _PROTOCOLS]
        names, _ = channel.document.fields.peek((*channel.path, "servers"))
        found = [_server_name(item) for item in names] if isinstance(names, list) else []
        return [name for name in found if name in kafka] if len(kafka) > 1 else []

    def _exclusion(self, channel: Node, binding: Node | None) -> str | None:
        """Return the reason why the channel is no topic; None if it is one."""
        names = _take_references(channel, (*channel.path, "servers"))
        protocols = [self._protocols.get(_server_name(item)) for item in names] if isinstance(names, list) else []
        known = [protocol for protocol in protocols or self._protocols.values() if protocol]
        if binding is None and not any(protocol.lower() in _PROTOCOLS for protocol in known):
            return "not imported, because neither a server nor a binding of the channel is for Kafka"
        return None

    def _binding(self, binding: Node | None, channel: Node) -> tuple[dict[str, tuple[Any, Location]], SettingValues]:
        if binding is None:
            nothing = (None, channel.location)
            return {"partitions": nothing, "replication factor": nothing}, {}
        fields, path = binding.document.fields, binding.path
        extensions = (
            (key for key in binding.value if str(key).startswith("x-")) if isinstance(binding.value, dict) else ()
        )
        report_unknown_keys(fields, path, (*_BINDING, *extensions), self._reader)
        fields.take((*path, "bindingVersion"))
        counts = take_counts(fields, path, "partitions", "replicas", self._reader)
        configuration = binding.child("topicConfiguration")
        if configuration is None:
            return counts, {}
        return counts, take_settings(configuration.document.fields, configuration.path, self._reader)


def _take_references(node: Node, path: KeyPath) -> Any:
    """Return the value at ``path``, and mark its references, or its names of servers, as read."""
    value, _ = node.document.fields.peek(path)
    for item_path, item in [(path, value)] if isinstance(value, dict) else _items(path, value):
        if isinstance(item, dict) and "$ref" in item:
            node.document.fields.take((*item_path, "$ref"))
        elif isinstance(item, str):
            node.document.fields.take(item_path)
    return value


def _items(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    return (((*path, index), item) for index, item in enumerate(value if isinstance(value, list) else ()))


def _server_name(server: Any) -> str:
    reference = server.get("$ref") if isinstance(server, dict) else server
    return str(reference).rpartition("/")[2]
