"""topicctl's topic files: ``meta`` and ``spec`` (``TopicConfig`` in its ``pkg/config``)."""

from __future__ import annotations

from typing import Final

from topicwarden.specs.foreign.reading import Reading, Values, settings, unknown_keys
from topicwarden.specs.foreign.source import Source, at
from topicwarden.specs.nodes import Document
from topicwarden.specs.words import seen

_SPEC: Final = ("partitions", "replicationFactor", "retentionMinutes", "settings", "placement", "migration")
_MINUTE_MS: Final = 60_000


def recognises(source: Source) -> bool:
    return any(_is_topic(document) for document in source.documents)


def read(source: Source) -> Reading:
    reading = Reading(problems=list(source.problems))
    for document in source.documents:
        if not _is_topic(document):
            reading.wrong(document.at(()), "expected a topic of topicctl, with meta and spec; leave this out", "value")
            continue
        unknown_keys(document, ("spec",), _SPEC, reading)
        config = settings(document, ("spec", "settings"), reading)
        minutes, place = at(document, ("spec", "retentionMinutes"))
        if minutes and "retention.ms" in config:
            message = "retentionMinutes and the setting retention.ms are the same thing; keep one"
            reading.wrong(place, message, "value")
        elif isinstance(minutes, int) and not isinstance(minutes, bool) and minutes >= 0:
            # Zero is what topicctl takes for not set.
            config |= {"retention.ms": (minutes * _MINUTE_MS, place, place)} if minutes else {}
        elif minutes is not None:
            reading.wrong(place, f"retentionMinutes: expected a whole number, seen {seen(minutes)}", "value")
        description = at(document, ("meta", "description"))[0]
        reading.topic(
            Values(
                named=at(document, ("meta", "name")),
                counts={
                    "partitions": at(document, ("spec", "partitions")),
                    "replication factor": at(document, ("spec", "replicationFactor")),
                },
                config=config,
                description=" ".join(description.split()) or None if isinstance(description, str) else None,
            )
        )
    return reading


def _is_topic(document: Document) -> bool:
    value = document.value
    return isinstance(value, dict) and "apiVersion" not in value and {"meta", "spec"} <= value.keys()
