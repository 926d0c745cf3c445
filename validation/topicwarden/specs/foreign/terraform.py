"""Terraform's or OpenTofu's state of the Kafka provider: ``kafka_topic`` in ``terraform.tfstate`` (version 4), and in
what ``terraform show -json`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from topicwarden.specs.foreign.reading import Reading, Values, settings
from topicwarden.specs.foreign.source import Source, at
from topicwarden.specs.nodes import Document, KeyPath
from topicwarden.specs.words import seen

_TYPE: Final = "kafka_topic"
_VERSION: Final = 4


def recognises(source: Source) -> bool:
    value = source.documents[0].value if len(source.documents) == 1 else None
    return isinstance(value, dict) and ("terraform_version" in value or "format_version" in value)


def read(source: Source) -> Reading:
    reading = Reading(problems=list(source.problems))
    document = source.documents[0]
    version, place = at(document, ("version",))
    if version is not None and version != _VERSION:
        message = f"expected a state of version {_VERSION}, seen {seen(version)}; `terraform show -json` prints one"
        reading.wrong(place, f"{message} that can be read", "value")
        return reading
    for path in _attributes(document):
        reading.topic(
            Values(
                named=at(document, (*path, "name")),
                counts={
                    "partitions": at(document, (*path, "partitions")),
                    "replication factor": at(document, (*path, "replication_factor")),
                },
                config=settings(document, (*path, "config"), reading),
            )
        )
    return reading


def _attributes(document: Document) -> Iterator[KeyPath]:
    """Where the attributes of each topic stand; what was read with a ``data`` block is another's."""
    for index, resource in _items(at(document, ("resources",))[0]):
        if resource.get("mode") == "managed" and resource.get("type") == _TYPE:
            for number, _ in _items(resource.get("instances")):
                yield ("resources", index, "instances", number, "attributes")
    yield from _shown(document, ("values", "root_module"))


def _shown(document: Document, module: KeyPath) -> Iterator[KeyPath]:
    for index, resource in _items(at(document, (*module, "resources"))[0]):
        if resource.get("mode") == "managed" and resource.get("type") == _TYPE:
            yield (*module, "resources", index, "values")
    for index, _ in _items(at(document, (*module, "child_modules"))[0]):
        yield from _shown(document, (*module, "child_modules", index))


def _items(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item
