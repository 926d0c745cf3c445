"""Strimzi's ``KafkaTopic``, as it is applied with ``kubectl``, or as ``kubectl get kafkatopics -o yaml`` prints it."""

from __future__ import annotations

from topicwarden.specs.foreign.kubernetes import resources
from topicwarden.specs.foreign.reading import Reading, Values, settings, unknown_keys
from topicwarden.specs.foreign.source import Source, at

_GROUP = "kafka.strimzi.io/"
_SPEC = ("partitions", "replicas", "config", "topicName")


def recognises(source: Source) -> bool:
    return any(one.group(_GROUP) and one.kind.startswith("KafkaTopic") for one in resources(source))


def read(source: Source) -> Reading:
    reading = Reading(problems=list(source.problems))
    for one in resources(source):
        if not one.group(_GROUP) or one.kind != "KafkaTopic":
            continue
        document, spec = one.document, (*one.path, "spec")
        unknown_keys(document, spec, _SPEC, reading)
        name = at(document, (*spec, "topicName"))
        reading.topic(
            Values(
                named=name if name[0] is not None else at(document, (*one.path, "metadata", "name")),
                counts={
                    "partitions": at(document, (*spec, "partitions")),
                    "replication factor": at(document, (*spec, "replicas")),
                },
                config=settings(document, (*spec, "config"), reading),
            )
        )
    return reading
