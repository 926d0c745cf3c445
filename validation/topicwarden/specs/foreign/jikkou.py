"""Jikkou's ``KafkaTopic`` and ``KafkaTopicList``, with the ``ConfigMap`` documents of the same file."""

from __future__ import annotations

from topicwarden.specs.foreign.kubernetes import Resource, resources
from topicwarden.specs.foreign.reading import Reading, Settings, Values, settings, unknown_keys
from topicwarden.specs.foreign.source import Source, at
from topicwarden.specs.words import guess, quoted, seen

_GROUP = "kafka.jikkou.io/"
_CORE = "core.jikkou.io/"
_TOPIC = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC = ("partitions", "replicas", "configs", "configMapRefs", "replicasAssignments")


def recognises(source: Source) -> bool:
    return any(one.group(_GROUP) and one.kind.startswith("KafkaTopic") for one in resources(source))


def read(source: Source) -> Reading:
    reading = Reading(problems=list(source.problems))
    maps = {
        str(at(one.document, (*one.path, "metadata", "name"))[0]): settings(one.document, (*one.path, "data"), reading)
        for one in resources(source)
        if one.group(_CORE) and one.kind == "ConfigMap"
    }
    for one in resources(source):
        if one.group(_GROUP) and one.kind == "KafkaTopic":
            _topic(one, maps, reading)
    return reading


def _topic(one: Resource, maps: dict[str, Settings], reading: Reading) -> None:
    document, spec = one.document, (*one.path, "spec")
    unknown_keys(document, one.path, _TOPIC, reading)
    unknown_keys(document, spec, _SPEC, reading)
    inherited: Settings = {}
    refs, place = at(document, (*spec, "configMapRefs"))
    if refs is not None and not isinstance(refs, list):
        reading.wrong(place, f"configMapRefs: expected a list of names, seen {seen(refs)}", "type")
    for index, name in enumerate(refs if isinstance(refs, list) else ()):
        if name in maps:
            inherited |= maps[name]
        else:
            meant = guess(str(name), maps) or "; put it into this file"
            message = f"this file has no ConfigMap {quoted(str(name))}{meant}"
            reading.wrong(document.at((*spec, "configMapRefs", index)), message, "value")
    reading.topic(
        Values(
            named=at(document, (*one.path, "metadata", "name")),
            counts={
                "partitions": at(document, (*spec, "partitions")),
                "replication factor": at(document, (*spec, "replicas")),
            },
            config={**inherited, **settings(document, (*spec, "configs"), reading)},
        )
    )
