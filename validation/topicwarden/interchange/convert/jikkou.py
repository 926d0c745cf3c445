"""Read Jikkou's ``KafkaTopic`` and ``KafkaTopicList``, with the ``ConfigMap`` documents of the same file."""

from __future__ import annotations

from typing import Final

from topicwarden.interchange.convert.kubernetes import KubernetesResource, declares, resources, topics
from topicwarden.interchange.convert.source_file import SourceFile
from topicwarden.interchange.convert.take_values import report_unknown_keys, take_counts, take_settings
from topicwarden.interchange.convert.topic_reader import TopicReader
from topicwarden.interchange.convert.topic_values import SettingValues, TopicValues, add_topic
from topicwarden.interchange.convert.unread_fields import UnreadFields
from topicwarden.model.message_text import describe_value, did_you_mean, quoted

_GROUP: Final = "kafka.jikkou.io/"
_CORE: Final = "core.jikkou.io/"
_TOPIC: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC: Final = ("partitions", "replicas", "configs", "configMapRefs", "replicasAssignments")
_EXCLUDED: Final = {
    "jikkou.io/delete": "marked for deletion (jikkou.io/delete), so not imported",
    "jikkou.io/ignore": "ignored by Jikkou (jikkou.io/ignore), so not imported",
}
"""Reasons to exclude a topic, by annotation (``CoreAnnotations``). Jikkou reads it with ``Boolean.parseBoolean``."""


def recognises(source: SourceFile) -> bool:
    return declares(source, _GROUP)


def read(reader: TopicReader) -> None:
    documents = reader.documents()
    config_maps = _ConfigMaps(documents, reader)
    for resource in topics(documents, reader, _GROUP, "Jikkou", other_kinds=("ConfigMap",)):
        annotations = resource.annotations()
        reasons = [reason for annotation, reason in _EXCLUDED.items() if annotations.get(annotation) == "true"]
        if reasons:
            resource.exclude(reader, reasons[0])
        else:
            _topic(resource, config_maps, reader)
    config_maps.note_unused()


def _topic(resource: KubernetesResource, config_maps: _ConfigMaps, reader: TopicReader) -> None:
    fields, spec = resource.fields, (*resource.path, "spec")
    report_unknown_keys(fields, resource.path, _TOPIC, reader)
    report_unknown_keys(fields, spec, _SPEC, reader)
    inherited = _config_map_settings(resource, config_maps, reader)
    add_topic(
        reader,
        TopicValues(
            name_field=fields.take((*resource.path, "metadata", "name")),
            counts=take_counts(fields, spec, "partitions", "replicas", reader),
            config={**inherited, **take_settings(fields, (*spec, "configs"), reader)},
        ),
        [*resource.comments(), *fields.take_as_comments((*spec, "replicasAssignments"), len(resource.path))],
    )


def _config_map_settings(resource: KubernetesResource, config_maps: _ConfigMaps, reader: TopicReader) -> SettingValues:
    """Return the settings of the ConfigMaps that the topic refers to; a later ConfigMap overrides an earlier one."""
    path = (*resource.path, "spec", "configMapRefs")
    references, location = resource.fields.take(path)
    if references is not None and not isinstance(references, list):
        reader.add_problem(
            location, f"configMapRefs: expected a list of names, got {describe_value(references)}", "type"
        )
    inherited: SettingValues = {}
    for index, name in enumerate(references if isinstance(references, list) else ()):
        if name in config_maps.names:
            inherited |= config_maps.settings(name)
        else:
            suggestion = did_you_mean(str(name), config_maps.names) or "; add it to this file"
            message = f"this file has no ConfigMap {quoted(str(name))}{suggestion}"
            reader.add_problem(resource.fields.document.at((*path, index)), message, "value")
    return inherited


class _ConfigMaps:
    """The ConfigMaps of a file, and which of them no topic refers to."""

    def __init__(self, documents: list[UnreadFields], reader: TopicReader) -> None:
        self._reader = reader
        self._unused = [
            resource for resource in resources(documents) if resource.in_group(_CORE) and resource.kind == "ConfigMap"
        ]
        self.names = {str(resource.name): resource for resource in self._unused}
        self._settings: dict[str, SettingValues] = {}

    def settings(self, name: str) -> SettingValues:
        """Return the settings of a ConfigMap of ``names``, and mark it as used."""
        if name not in self._settings:
            resource = self.names[name]
            self._unused.remove(resource)
            for key in (("apiVersion",), ("kind",), ("metadata", "name")):
                resource.fields.take((*resource.path, *key))
            self._settings[name] = take_settings(resource.fields, (*resource.path, "data"), self._reader)
        return self._settings[name]

    def note_unused(self) -> None:
        """Note each ConfigMap that no topic refers to."""
        for resource in self._unused:
            _, location = resource.fields.take(resource.path)
            self._reader.note(
                location, f"ConfigMap {resource.name}", "no topic in this file refers to it, so not imported"
            )
