"""Documents in the manner of Kubernetes: resources with an ``apiVersion`` and a ``kind``, alone or in a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from topicwarden.specs.foreign.source import Source
from topicwarden.specs.nodes import Document, KeyPath


@dataclass(frozen=True)
class Resource:
    """One resource, at ``path`` of a document."""

    document: Document
    path: KeyPath
    api: str
    kind: str

    def group(self, prefix: str) -> bool:
        return self.api.startswith(prefix)


def resources(source: Source) -> Iterator[Resource]:
    """Every resource of a file; the items of a ``List`` and of a ``KafkaTopicList`` each as one of its own."""
    for document in source.documents:
        value = document.value
        if not isinstance(value, dict):
            continue
        api, kind = _text(value.get("apiVersion")), _text(value.get("kind"))
        items = value.get("items")
        if not kind.endswith("List") or not isinstance(items, list):
            yield Resource(document, (), api, kind)
            continue
        for index, item in enumerate(items):
            own = item if isinstance(item, dict) else {}
            inner = kind.removesuffix("List")
            yield Resource(document, ("items", index), _text(own.get("apiVersion", api)), _text(own.get("kind", inner)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
