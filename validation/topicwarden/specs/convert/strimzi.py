"""Read Strimzi's ``KafkaTopic``, from a manifest or from the output of ``kubectl get kafkatopics -o yaml``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.specs.convert.kubernetes import KubernetesResource, resources, topics
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import (
    TopicReader,
    TopicValues,
    report_unknown_keys,
    take_number,
    take_settings,
)
from topicwarden.specs.convert.unread_fields import UnreadFields

_GROUP: Final = "kafka.strimzi.io/"
_SPEC: Final = ("partitions", "replicas", "config", "topicName")
_NOT_APPLIED: Final = "imported as written but not applied by Strimzi, so compare with the cluster"
_UNMANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")


def recognises(source: SourceFile) -> bool:
    documents = [UnreadFields(source, document) for document in source.documents]
    return any(
        resource.in_group(_GROUP) and resource.kind.startswith("KafkaTopic") for resource in resources(documents)
    )


def read(reader: TopicReader) -> None:
    for resource in topics(reader.documents(), reader, _GROUP, "Strimzi"):
        fields, spec, metadata = resource.fields, (*resource.path, "spec"), (*resource.path, "metadata")
        report_unknown_keys(fields, spec, _SPEC, reader)
        name, comments = fields.take((*spec, "topicName")), list(resource.comments())
        if name[0] is None:
            name = fields.take((*metadata, "name"))
        else:
            comments = [*fields.take_as_comments((*metadata, "name"), len(resource.path)), *comments]
        for reason in _not_applied(resource):
            reader.note(name[1], f"{name[0]} ({reason})", _NOT_APPLIED)
        reader.add_topic(
            TopicValues(
                name_field=name,
                counts={
                    "partitions": take_number(fields, (*spec, "partitions"), reader),
                    "replication factor": take_number(fields, (*spec, "replicas"), reader),
                },
                config=take_settings(fields, (*spec, "config"), reader),
            ),
            comments,
        )


def _not_applied(resource: KubernetesResource) -> Iterator[str]:
    """Yield the reasons why the Topic Operator does not apply the resource to the topic."""
    annotations = resource.annotations()
    for name, value in (_UNMANAGED, _PAUSED):
        if annotations.get(name) == value:
            yield f"{name}: {value}"
    conditions, _ = resource.fields.peek((*resource.path, "status", "conditions"))
    for condition in conditions if isinstance(conditions, list) else ():
        if (
            isinstance(condition, dict)
            and condition.get("type") == "Ready"
            and str(condition.get("status")).lower() == "false"
        ):
            yield "status: not ready"
