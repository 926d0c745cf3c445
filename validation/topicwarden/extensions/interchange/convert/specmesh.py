"""Read SpecMesh's data products: AsyncAPI documents whose ``id`` is the beginning of the names of their own topics.

Names: ``ApiSpec.getCanonical`` of
https://github.com/specmesh/specmesh-build/tree/main/parser/src/main/java/io/specmesh/apiparser/model
"""

from __future__ import annotations

import re
from typing import Final

from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    TopicValues,
    add_topic,
    paragraphs,
    report_unknown_keys,
    take_counts,
    take_settings,
)
from topicwarden.specs.yaml_nodes import KeyPath

_URN: Final = "urn:"
_VISIBILITY: Final = re.compile(r"/?(?:.*[./])?_(public|protected|private)[./]")
_BINDING: Final = (
    *("partitions", "replicas", "configs", "envs", "groupId", "key", "bindingVersion"),
    *("schemaIdLocation", "schemaIdPayloadEncoding", "schemaLookupStrategy"),
)


def recognises(source: SourceFile) -> bool:
    return any(_is_data_product(document.value) for document in source.documents)


def _is_data_product(document: object) -> bool:
    if not isinstance(document, dict) or not str(document.get("id")).startswith(_URN) or "asyncapi" not in document:
        return False
    channels = document.get("channels")
    return isinstance(channels, dict) and any(_VISIBILITY.match(str(name)) for name in channels)


def read(reader: TopicReader) -> None:
    for fields in reader.documents():
        identity, location = fields.take(("id",))
        fields.take(("asyncapi",))
        domain = str(identity).removeprefix(_URN).replace(":", ".")
        if not domain.strip():
            reader.add_problem(
                location, f"id: expected {_URN} and the name of the data product, got {identity}", "value"
            )
            fields.take(())
            continue
        channels, _ = fields.peek(("channels",))
        for name in channels if isinstance(channels, dict) else ():
            _channel(fields, name, domain, reader)


def _channel(fields: UnreadFields, name: str, domain: str, reader: TopicReader) -> None:
    path: KeyPath = ("channels", name)
    location = fields.document.at_key(path)
    published = fields.peek((*path, "publish"))[0] is not None
    topic = _topic(str(name), domain, published=published)
    if not topic.startswith(domain):
        fields.take(path)
        reader.exclude(location, topic, "topics of another data product, so not imported")
        return
    binding = (*path, "bindings", "kafka")
    report_unknown_keys(fields, binding, _BINDING, reader)
    add_topic(
        reader,
        TopicValues(
            name_field=(topic, location),
            counts=take_counts(fields, binding, "partitions", "replicas", reader),
            config=take_settings(fields, (*binding, "configs"), reader),
            description=paragraphs(fields.take((*path, "description"))[0]),
        ),
    )


def _topic(channel: str, domain: str, *, published: bool) -> str:
    """Return the name of the channel's topic. A data product publishes to its own topics."""
    if channel.startswith("/"):
        return channel[1:].replace("/", ".")
    if channel.startswith(domain) or not published:
        return channel
    return f"{domain}.{channel.replace('/', '.')}"
