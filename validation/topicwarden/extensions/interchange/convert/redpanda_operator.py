"""Read the ``Topic`` resources of the Redpanda Operator, from a manifest or from ``kubectl get topics -o yaml``.

https://github.com/redpanda-data/redpanda-operator/blob/main/operator/api/redpanda/v1alpha2/topic_types.go
"""

from __future__ import annotations

from typing import Final

from topicwarden.extensions.interchange.convert.kubernetes import declares, topics
from topicwarden.extensions.interchange.convert.source_file import SourceFile
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    TopicValues,
    add_topic,
    report_unknown_keys,
    take_counts,
    take_settings,
)

_GROUP: Final = "cluster.redpanda.com/"
_KIND: Final = "Topic"
_SPEC: Final = (
    "partitions",
    "replicationFactor",
    "overwriteTopicName",
    "additionalConfig",
    "cluster",
    "kafkaApiSpec",
    "metricsNamespace",
    "interval",
)


def recognises(source: SourceFile) -> bool:
    return declares(source, _GROUP, _KIND)


def read(reader: TopicReader) -> None:
    for resource in topics(reader.documents(), reader, _GROUP, "Redpanda", kind=_KIND):
        cluster = resource.fields.peek((*resource.path, "spec", "cluster", "clusterRef", "name"))[0]
        if not resource.is_on_cluster(reader, cluster) or not resource.is_applied(
            reader, "Redpanda", override="overwriteTopicName"
        ):
            continue
        fields, spec = resource.fields, (*resource.path, "spec")
        report_unknown_keys(fields, spec, _SPEC, reader)
        # ``GetTopicName`` ignores an empty name.
        name, location, comments = resource.take_topic_name("overwriteTopicName", absent=(None, ""))
        add_topic(
            reader,
            TopicValues(
                name_field=(name, location),
                counts=take_counts(fields, spec, "partitions", "replicationFactor", reader),
                config=take_settings(fields, (*spec, "additionalConfig"), reader),
            ),
            comments,
        )
