"""Jikkou's ``KafkaTopic`` and ``KafkaTopicList``, with the ``ConfigMap`` documents of the same file."""

from __future__ import annotations

from typing import Final

from topicwarden.specs.convert.kubernetes import KubernetesResource, resources, topics
from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import Settings, TopicReader, TopicValues, count, settings, unknown_keys
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.message_text import guess, quoted, seen

_GROUP: Final = "kafka.jikkou.io/"
_CORE: Final = "core.jikkou.io/"
_TOPIC: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC: Final = ("partitions", "replicas", "configs", "configMapRefs", "replicasAssignments")
_LEFT_OUT: Final = {
    "jikkou.io/delete": "marked for deletion (jikkou.io/delete), so not imported",
    "jikkou.io/ignore": "ignored by Jikkou (jikkou.io/ignore), so not imported",
}
"""By the annotation (``CoreAnnotations``); Jikkou reads its value with ``Boolean.parseBoolean``."""


def recognises(source: SourceFile) -> bool:
    documents = [UnreadFields(source, document) for document in source.documents]
    return any(one.group(_GROUP) and one.kind.startswith("KafkaTopic") for one in resources(documents))


def read(reading: TopicReader) -> None:
    documents = reading.documents()
    maps = _ConfigMaps(documents, reading)
    for one in topics(documents, reading, _GROUP, "Jikkou", ("ConfigMap",)):
        annotations = one.annotations()
        if why := next((why for mark, why in _LEFT_OUT.items() if annotations.get(mark) == "true"), None):
            one.leave(reading, why)
        else:
            _topic(one, maps, reading)
    maps.note_unused()


def _topic(one: KubernetesResource, maps: _ConfigMaps, reading: TopicReader) -> None:
    fields, spec = one.fields, (*one.path, "spec")
    unknown_keys(fields, one.path, _TOPIC, reading)
    unknown_keys(fields, spec, _SPEC, reading)
    inherited = _inherited(one, maps, reading)
    reading.topic(
        TopicValues(
            named=fields.take((*one.path, "metadata", "name")),
            counts={
                "partitions": count(fields, (*spec, "partitions"), reading),
                "replication factor": count(fields, (*spec, "replicas"), reading),
            },
            config={**inherited, **settings(fields, (*spec, "configs"), reading)},
        ),
        [*one.comments(), *fields.keep((*spec, "replicasAssignments"), len(one.path))],
    )


def _inherited(one: KubernetesResource, maps: _ConfigMaps, reading: TopicReader) -> Settings:
    """The settings of the ConfigMaps that the topic refers to; a later one wins."""
    path = (*one.path, "spec", "configMapRefs")
    refs, place = one.fields.take(path)
    if refs is not None and not isinstance(refs, list):
        reading.wrong(place, f"configMapRefs: expected a list of names, seen {seen(refs)}", "type")
    inherited: Settings = {}
    for index, name in enumerate(refs if isinstance(refs, list) else ()):
        if name in maps.names:
            inherited |= maps.settings(name)
        else:
            meant = guess(str(name), maps.names) or "; put it into this file"
            message = f"this file has no ConfigMap {quoted(str(name))}{meant}"
            reading.wrong(one.fields.document.at((*path, index)), message, "value")
    return inherited


class _ConfigMaps:
    """The ConfigMaps of a file, and which of them a topic refers to."""

    def __init__(self, documents: list[UnreadFields], reading: TopicReader) -> None:
        self._reading = reading
        self._unused = [one for one in resources(documents) if one.group(_CORE) and one.kind == "ConfigMap"]
        self.names = {str(one.name): one for one in self._unused}
        self._read: dict[str, Settings] = {}

    def settings(self, name: str) -> Settings:
        if name not in self._read:
            one = self.names[name]
            self._unused.remove(one)
            for key in (("apiVersion",), ("kind",), ("metadata", "name")):
                one.fields.take((*one.path, *key))
            self._read[name] = settings(one.fields, (*one.path, "data"), self._reading)
        return self._read[name]

    def note_unused(self) -> None:
        for one in self._unused:
            _, place = one.fields.take(one.path)
            self._reading.note(place, f"ConfigMap {one.name}", "no topic of this file refers to it, so not imported")
