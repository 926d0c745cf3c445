"""topicctl's topic files: ``meta`` and ``spec`` (``TopicConfig`` in its ``pkg/config``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from topicwarden.specs.convert.source_file import SourceFile
from topicwarden.specs.convert.topic_reader import Settings, TopicReader, TopicValues, count, settings, unknown_keys
from topicwarden.specs.convert.unread_fields import UnreadFields
from topicwarden.specs.message_text import seen

_SPEC: Final = ("partitions", "replicationFactor", "retentionMinutes", "settings", "placement", "migration")
_OTHERS: Final = {
    "bootstrapAddrs": "cluster",
    "zkAddrs": "cluster",
    "acls": "ACL",
    "mechanism": "user",
}
"""By a key of its spec, topicctl's files that declare no topic."""
_MINUTE_MS: Final = 60_000


def recognises(source: SourceFile) -> bool:
    return any(_has_spec(document.value) for document in source.documents)


def read(reading: TopicReader) -> None:
    for fields in reading.documents():
        value, place = fields.at(())
        other = _other(value)
        if not _has_spec(value) or other:
            fields.take(())
            message = "expected a topic of topicctl, with meta and spec; leave this out"
            if other:
                message = f"this is topicctl's {other} file, which declares no topic; give its topic files"
            reading.wrong(place, message, "value")
        else:
            _topic(fields, reading)


def _topic(fields: UnreadFields, reading: TopicReader) -> None:
    unknown_keys(fields, ("spec",), _SPEC, reading)
    config = settings(fields, ("spec", "settings"), reading)
    description = fields.at(("meta", "description"))[0]
    if isinstance(description, str):
        fields.take(("meta", "description"))
    reading.topic(
        TopicValues(
            named=fields.take(("meta", "name")),
            counts={
                "partitions": count(fields, ("spec", "partitions"), reading),
                "replication factor": count(fields, ("spec", "replicationFactor"), reading),
            },
            config=config | _retention(fields, config, reading),
            description=" ".join(description.split()) or None if isinstance(description, str) else None,
        ),
        _comments(fields),
    )


def _retention(fields: UnreadFields, config: Settings, reading: TopicReader) -> Settings:
    minutes, place = count(fields, ("spec", "retentionMinutes"), reading)
    if minutes and "retention.ms" in config:
        message = "retentionMinutes and the setting retention.ms are the same thing; keep one"
        reading.wrong(place, message, "value")
    elif isinstance(minutes, int) and not isinstance(minutes, bool) and minutes >= 0:
        # Zero is what topicctl takes for not set.
        return {"retention.ms": (minutes * _MINUTE_MS, place, place)} if minutes else {}
    elif minutes is not None:
        reading.wrong(place, f"retentionMinutes: expected a whole number, seen {seen(minutes)}", "value")
    return {}


def _comments(fields: UnreadFields) -> Iterator[str]:
    """Yield what a topic's YAML has no place for: the rest of meta, and how topicctl places and moves replicas."""
    meta, _ = fields.at(("meta",))
    for key in meta if isinstance(meta, dict) else ():
        if key not in ("name", "description"):
            yield from fields.keep(("meta", key))
    for key in ("placement", "migration"):
        yield from fields.keep(("spec", key))


def _other(value: Any) -> str | None:
    spec = value.get("spec") if isinstance(value, dict) else None
    return next((what for key, what in _OTHERS.items() if isinstance(spec, dict) and key in spec), None)


def _has_spec(value: Any) -> bool:
    return isinstance(value, dict) and "apiVersion" not in value and {"meta", "spec"} <= value.keys()
