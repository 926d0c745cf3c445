"""Strimzi's ``KafkaTopic``, as it is applied with ``kubectl``, or as ``kubectl get kafkatopics -o yaml`` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.specs.convert.kubernetes import KubernetesResource, resources, topics
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import TopicReader, TopicValues, count, settings, unknown_keys
from topicwarden.specs.convert.unread_fields import UnreadFields

_GROUP: Final = "kafka.strimzi.io/"
_SPEC: Final = ("partitions", "replicas", "config", "topicName")
_NOT_APPLIED: Final = "imported as written but not applied by Strimzi, so compare with the cluster"
_UNMANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")


def recognises(source: SourceFile) -> bool:
    documents = [UnreadFields(source, document) for document in source.documents]
    return any(one.group(_GROUP) and one.kind.startswith("KafkaTopic") for one in resources(documents))


def read(reading: TopicReader) -> None:
    for one in topics(reading.documents(), reading, _GROUP, "Strimzi"):
        fields, spec, metadata = one.fields, (*one.path, "spec"), (*one.path, "metadata")
        unknown_keys(fields, spec, _SPEC, reading)
        name, comments = fields.take((*spec, "topicName")), list(one.comments())
        if name[0] is None:
            name = fields.take((*metadata, "name"))
        else:
            comments = [*fields.keep((*metadata, "name"), len(one.path)), *comments]
        for reason in _not_applied(one):
            reading.note(name[1], f"{name[0]} ({reason})", _NOT_APPLIED)
        reading.topic(
            TopicValues(
                named=name,
                counts={
                    "partitions": count(fields, (*spec, "partitions"), reading),
                    "replication factor": count(fields, (*spec, "replicas"), reading),
                },
                config=settings(fields, (*spec, "config"), reading),
            ),
            comments,
        )


def _not_applied(one: KubernetesResource) -> Iterator[str]:
    """Yield why the Topic Operator does not make the topic what the resource says."""
    annotations = one.annotations()
    for name, value in (_UNMANAGED, _PAUSED):
        if annotations.get(name) == value:
            yield f"{name}: {value}"
    conditions, _ = one.fields.at((*one.path, "status", "conditions"))
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == "Ready" and str(each.get("status")).lower() == "false":
            yield "status: not ready"
