"""Read Strimzi's ``KafkaTopic``, from a manifest or from the output of ``kubectl get kafkatopics -o yaml``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.interchange.convert.kubernetes import NOT_APPLIED, KubernetesResource, declares, topics
from topicwarden.interchange.convert.source_file import SourceFile
from topicwarden.interchange.convert.take_values import report_unknown_keys, take_counts, take_settings
from topicwarden.interchange.convert.topic_reader import TopicReader
from topicwarden.interchange.convert.topic_values import TopicValues, add_topic

_GROUP: Final = "kafka.strimzi.io/"
_SPEC: Final = ("partitions", "replicas", "config", "topicName")
_UNMANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")


def recognises(source: SourceFile) -> bool:
    return declares(source, _GROUP)


def read(reader: TopicReader) -> None:
    for resource in topics(reader.documents(), reader, _GROUP, "Strimzi"):
        fields, spec = resource.fields, (*resource.path, "spec")
        report_unknown_keys(fields, spec, _SPEC, reader)
        name, location, comments = resource.take_topic_name("topicName")
        for reason in _not_applied(resource):
            reader.note(location, f"{name} ({reason})", NOT_APPLIED.format("Strimzi"))
        add_topic(
            reader,
            TopicValues(
                name_field=(name, location),
                counts=take_counts(fields, spec, "partitions", "replicas", reader),
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
    if resource.not_ready():
        yield "status: not ready"
