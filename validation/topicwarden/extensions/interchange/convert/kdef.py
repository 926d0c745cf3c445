"""Read kdef's definitions of kind ``topic``, from YAML or JSON.

https://peter-evans.github.io/kdef/def/topic/
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

_VERSION: Final = "v1"
_KIND: Final = "topic"
_PLACEMENT: Final = ("assignments", "rackAssignments", "managedAssignments", "maintainLeaders", "reassignment")
_SPEC: Final = ("configs", "deleteUndefinedConfigs", "partitions", "replicationFactor", *_PLACEMENT)


def recognises(source: SourceFile) -> bool:
    return declares(source, _VERSION, _KIND)


def read(reader: TopicReader) -> None:
    for resource in topics(reader.documents(), reader, _VERSION, "kdef", kind=_KIND):
        fields, spec = resource.fields, (*resource.path, "spec")
        report_unknown_keys(fields, spec, _SPEC, reader)
        placement = [
            line for key in _PLACEMENT for line in fields.take_as_comments((*spec, key), skip=len(resource.path))
        ]
        add_topic(
            reader,
            TopicValues(
                name_field=fields.take((*resource.path, "metadata", "name")),
                counts=take_counts(fields, spec, "partitions", "replicationFactor", reader),
                config=take_settings(fields, (*spec, "configs"), reader),
            ),
            [*resource.comments(), *placement],
        )
