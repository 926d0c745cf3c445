"""Documents in the manner of Kubernetes: resources with an ``apiVersion`` and a ``kind``, alone or in a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.specs.convert.topic_reader import TopicReader
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.yaml_nodes import KeyPath

TOPIC: Final = "KafkaTopic"
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What ``kubectl apply`` was given, as JSON in an annotation: the whole resource again."""


@dataclass(frozen=True)
class KubernetesResource:
    """One resource, at ``path`` of a document; ``lists`` are the paths of the lists that hold it."""

    fields: UnreadFields
    path: KeyPath
    api: str
    kind: str
    lists: tuple[KeyPath, ...] = ()

    def group(self, prefix: str) -> bool:
        return self.api.startswith(prefix)

    @property
    def name(self) -> Any:
        return self.fields.at((*self.path, "metadata", "name"))[0]

    def annotations(self) -> dict[str, str]:
        """Return the annotations of the resource and of its lists, as text in lower case."""
        found: dict[str, str] = {}
        for path in (*self.lists, self.path):
            value, _ = self.fields.at((*path, "metadata", "annotations"))
            found |= {key: str(text).lower() for key, text in value.items()} if isinstance(value, dict) else {}
        return found

    def comments(self) -> Iterator[str]:
        """Account for the labels and annotations, and yield them as lines of a comment."""
        for path in (*self.lists, self.path):
            for key in ("labels", "annotations"):
                value, _ = self.fields.at((*path, "metadata", key))
                for name in value if isinstance(value, dict) else ():
                    if name != _APPLIED:
                        yield from self.fields.keep((*path, "metadata", key, name), len(path))

    def leave(self, reading: TopicReader, reason: str) -> None:
        """Leave the topic out with the reason, and account for all of it."""
        _, place = self.fields.take(self.path)
        reading.leave(place, self.name, reason)


def resources(fields: Iterable[UnreadFields]) -> Iterator[KubernetesResource]:
    """Yield every resource; the items of a ``List`` and of a ``KafkaTopicList`` each as one of its own."""
    for each in fields:
        yield from _below(each, (), "", "", ())


def topics(
    documents: Iterable[UnreadFields], reading: TopicReader, group: str, tool: str, others: tuple[str, ...] = ()
) -> Iterator[KubernetesResource]:
    """Yield the ``KafkaTopic`` resources of ``group`` that are not being deleted; name all other resources in notes.

    ``others`` are kinds that the caller reads itself.
    """
    for one in resources(documents):
        named = f"{one.kind} {one.name}"
        if one.group(group) and one.kind == TOPIC:
            one.fields.take((*one.path, "apiVersion"))
            one.fields.take((*one.path, "kind"))
            if one.fields.at((*one.path, "metadata", "deletionTimestamp"))[0] is not None:
                one.leave(reading, "being deleted (metadata.deletionTimestamp), so not imported")
            else:
                yield one
        elif one.kind == TOPIC:
            _, place = one.fields.take(one.path)
            reading.note(place, f"{named} ({one.api})", f"not of {tool} (see --from-format), so not imported")
        elif one.kind and one.kind not in others:
            _, place = one.fields.take(one.path)
            reading.note(place, named, "not a topic, so not imported")


def _below(
    fields: UnreadFields, path: KeyPath, api: str, kind: str, lists: tuple[KeyPath, ...]
) -> Iterator[KubernetesResource]:
    value, _ = fields.at(path)
    if not isinstance(value, dict):
        return
    api, kind = _text(value.get("apiVersion", api)), _text(value.get("kind", kind))
    items = value.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        yield KubernetesResource(fields, path, api, kind, lists)
        return
    fields.take((*path, "apiVersion"))
    fields.take((*path, "kind"))
    for index in range(len(items)):
        yield from _below(fields, (*path, "items", index), api, kind.removesuffix("List"), (*lists, path))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
