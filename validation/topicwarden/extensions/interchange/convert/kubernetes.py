"""Kubernetes resources in YAML documents: mappings with ``apiVersion`` and ``kind``, alone or in a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath

TOPIC: Final = "KafkaTopic"
UNMANAGED: Final = "not applied by {}, so not imported (--include-unmanaged imports them)"
INCLUDED: Final = "imported as written but not applied by {}, so compare with the cluster"
_DELETED: Final = "being deleted (metadata.deletionTimestamp), so not imported"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation with the whole resource as JSON, which ``kubectl apply`` writes."""


@dataclass(frozen=True)
class KubernetesResource:
    """One resource at ``path`` of a document; ``lists`` are the paths of the lists that contain it."""

    fields: UnreadFields
    path: KeyPath
    api: str
    kind: str
    lists: tuple[KeyPath, ...] = ()

    def in_group(self, prefix: str) -> bool:
        """Return whether the resource's ``apiVersion`` begins with ``prefix``, such as ``kafka.strimzi.io/``."""
        return self.api.startswith(prefix)

    @property
    def name(self) -> Any:
        return self.fields.peek((*self.path, "metadata", "name"))[0]

    @property
    def _label(self) -> Any:
        return self.kind if self.name is None else self.name

    def annotations(self) -> dict[str, str]:
        """Return the annotations of the resource and of its lists, with values as lower-case text."""
        found: dict[str, str] = {}
        for path in (*self.lists, self.path):
            value, _ = self.fields.peek((*path, "metadata", "annotations"))
            found |= {key: str(text).lower() for key, text in value.items()} if isinstance(value, dict) else {}
        return found

    def comments(self) -> Iterator[str]:
        """Mark the labels and annotations as read, and yield them as comment lines."""
        for path in (*self.lists, self.path):
            for key in ("labels", "annotations"):
                value, _ = self.fields.peek((*path, "metadata", key))
                for name in value if isinstance(value, dict) else ():
                    if name != _LAST_APPLIED:
                        yield from self.fields.take_as_comments((*path, "metadata", key, name), len(path))

    def take_topic_name(self, override: str, *, absent: tuple[Any, ...] = (None,)) -> tuple[Any, Location, list[str]]:
        """Take the topic's name: ``spec`` may override that of the resource, unless its value is in ``absent``.

        Return the name, its location, and the comment lines of the resource.
        """
        metadata_name, comments = (*self.path, "metadata", "name"), list(self.comments())
        name, location = self.fields.take((*self.path, "spec", override))
        if name in absent:
            return *self.fields.take(metadata_name), comments
        return name, location, [*self.fields.take_as_comments(metadata_name, len(self.path)), *comments]

    def not_ready(self) -> bool:
        """Return whether the operator reports that it has not applied the resource."""
        conditions, _ = self.fields.peek((*self.path, "status", "conditions"))
        return any(
            condition.get("type") == "Ready" and str(condition.get("status")).lower() == "false"
            for condition in (conditions if isinstance(conditions, list) else ())
            if isinstance(condition, dict)
        )

    def is_on_cluster(self, reader: TopicReader, cluster: Any) -> bool:
        """Return whether the resource is on a cluster to import; if it is not, mark its fields as read, and note it."""
        location = self.fields.peek(self.path)[1]
        if reader.is_on_cluster([cluster] if isinstance(cluster, str) else [], location, self._label):
            return True
        self.fields.take(self.path)
        return False

    def is_applied(
        self, reader: TopicReader, tool: str, reasons: Iterable[str] = (), override: str | None = None
    ) -> bool:
        """Return whether the resource is to be imported; if it is not, mark all its fields as read, and note it.

        A resource that is being deleted is not. With ``reasons`` why the operator does not apply the resource, it is
        left out, unless the import includes such resources. ``override`` is a key of ``spec`` that can name the topic.
        """
        if self.fields.peek((*self.path, "metadata", "deletionTimestamp"))[0] is not None:
            self.exclude(reader, _DELETED)
            return False
        found = [*reasons, *(["status: not ready"] if self.not_ready() else [])]
        location = self.fields.peek(self.path)[1]
        name = self.fields.peek((*self.path, "spec", override))[0] if override else None
        for reason in found:
            label = f"{name or self._label} ({reason})"
            if reader.include_unmanaged:
                reader.note(location, label, INCLUDED.format(tool))
            else:
                self.fields.take(self.path)
                reader.leave_out(location, label, UNMANAGED.format(tool))
                return False
        return True

    def exclude(self, reader: TopicReader, reason: str) -> None:
        """Exclude the resource for ``reason``, and mark all its fields as read."""
        _, location = self.fields.take(self.path)
        reader.exclude(location, self._label, reason)


def declares(source: SourceFile, group: str, kind: str = TOPIC) -> bool:
    """Return whether the file has a resource of ``kind`` in the API group ``group``."""
    documents = [UnreadFields(source, document) for document in source.documents]
    return any(resource.in_group(group) and resource.kind in (kind, f"{kind}List") for resource in resources(documents))


def resources(fields: Iterable[UnreadFields]) -> Iterator[KubernetesResource]:
    """Yield every resource, including each item of a ``List`` or a ``KafkaTopicList``."""
    for document in fields:
        yield from _find_resources(document, (), "", "", ())


def topics(
    documents: Iterable[UnreadFields],
    reader: TopicReader,
    group: str,
    tool: str,
    *,
    kind: str = TOPIC,
    other_kinds: tuple[str, ...] = (),
) -> Iterator[KubernetesResource]:
    """Yield the resources of ``kind`` in the API group ``group``.

    Note all other resources, except those of ``other_kinds``, which the caller reads itself.
    """
    for resource in resources(documents):
        label = f"{resource.kind} {resource.name}"
        if resource.in_group(group) and resource.kind == kind:
            resource.fields.take((*resource.path, "apiVersion"))
            resource.fields.take((*resource.path, "kind"))
            yield resource
        elif resource.kind == kind:
            _, location = resource.fields.take(resource.path)
            reader.note(
                location, f"{label} ({resource.api})", f"not {tool} topics (see --from-format), so not imported"
            )
        elif resource.kind and resource.kind not in other_kinds:
            _, location = resource.fields.take(resource.path)
            reader.note(location, label, "not topics, so not imported")


def _find_resources(
    fields: UnreadFields, path: KeyPath, api: str, kind: str, lists: tuple[KeyPath, ...]
) -> Iterator[KubernetesResource]:
    value, _ = fields.peek(path)
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
        yield from _find_resources(fields, (*path, "items", index), api, kind.removesuffix("List"), (*lists, path))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
