"""Read topicctl's topic files: ``meta`` and ``spec`` (``TopicConfig`` in topicctl's ``pkg/config``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields, shown_value
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.topic_values import (
    SettingValues,
    TopicValues,
    add_topic,
    paragraphs,
    report_unknown_keys,
    take_counts,
    take_number,
    take_settings,
)

_CLUSTER: Final = ("environment", "region", "cluster")
_SPEC: Final = ("partitions", "replicationFactor", "retentionMinutes", "settings", "placement", "migration")
_OTHER_FILES: Final = {
    "bootstrapAddrs": "cluster",
    "zkAddrs": "cluster",
    "acls": "ACL",
    "mechanism": "user",
}
"""topicctl's files that declare no topic, by a key of their ``spec``."""
_MINUTE_MS: Final = 60_000
_MOST_MINUTES: Final = (2**63 - 1) // _MINUTE_MS


def recognises(source: SourceFile) -> bool:
    return any(_has_spec(document.value) for document in source.documents)


def read(reader: TopicReader) -> None:
    for fields in reader.documents():
        value, location = fields.peek(())
        other_file = _other_file(value)
        if not _has_spec(value) or other_file:
            fields.take(())
            message = "expected a topicctl topic with meta and spec; remove this document"
            if other_file:
                message = f"this is topicctl's {other_file} file, which declares no topic; pass the topic files"
            reader.add_problem(location, message, "value")
        else:
            _topic(fields, reader)


def _topic(fields: UnreadFields, reader: TopicReader) -> None:
    # topicctl compares these with the file of the cluster (``CheckConsistency``).
    named = [fields.peek(("meta", key))[0] for key in _CLUSTER]
    cluster = "/".join(str(part) for part in named if part)
    name, location = fields.peek(("meta", "name"))
    if not reader.is_on_cluster([cluster] if cluster else [], location, name):
        fields.take(())
        return
    report_unknown_keys(fields, ("spec",), _SPEC, reader)
    config = take_settings(fields, ("spec", "settings"), reader)
    description = fields.peek(("meta", "description"))[0]
    if isinstance(description, str):
        fields.take(("meta", "description"))
    add_topic(
        reader,
        TopicValues(
            name_field=fields.take(("meta", "name")),
            counts=take_counts(fields, ("spec",), "partitions", "replicationFactor", reader),
            config=config | _retention(fields, config, reader),
            description=paragraphs(description),
        ),
        _comments(fields),
    )


def _retention(fields: UnreadFields, config: SettingValues, reader: TopicReader) -> SettingValues:
    minutes, location = take_number(fields, ("spec", "retentionMinutes"), reader)
    if minutes and "retention.ms" in config:
        message = "retentionMinutes and retention.ms set the same configuration; keep one"
        reader.add_problem(location, message, "value")
    elif isinstance(minutes, int) and not isinstance(minutes, bool) and 0 <= minutes <= _MOST_MINUTES:
        # topicctl treats zero as not set.
        return {"retention.ms": (minutes * _MINUTE_MS, location, location)} if minutes else {}
    elif minutes is not None:
        message = f"retentionMinutes: expected a whole number up to {_MOST_MINUTES}, got {shown_value(minutes)}"
        reader.add_problem(location, message, "value")
    return {}


def _comments(fields: UnreadFields) -> Iterator[str]:
    """Yield the fields that a topic's YAML has no key for: the rest of meta, and topicctl's placement and migration."""
    meta, _ = fields.peek(("meta",))
    for key in meta if isinstance(meta, dict) else ():
        if key not in ("name", "description"):
            yield from fields.take_as_comments(("meta", key))
    for key in ("placement", "migration"):
        yield from fields.take_as_comments(("spec", key))


def _other_file(value: Any) -> str | None:
    spec = value.get("spec") if isinstance(value, dict) else None
    return next((kind for key, kind in _OTHER_FILES.items() if isinstance(spec, dict) and key in spec), None)


def _has_spec(value: Any) -> bool:
    return isinstance(value, dict) and "apiVersion" not in value and {"meta", "spec"} <= value.keys()
