"""Make the documents of `topicwarden show`: one topic with the origin of each value and its access, or all topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import to_jsonable_python

from topicwarden.model.shown_topic import ListedTopic, ListedTopics, ShownAcl, ShownTopic, ShownValue
from topicwarden.report.display import NOTHING, duration, one_line, size
from topicwarden.report.document import Column, Document, DocumentSection, Row, Table, Words, grid, line, named
from topicwarden.specs.write.topic_access import flow

_DURATIONS: Final = ("ms", "max_ahead", "max_lag", "max_silence", "every")
_LOCATION: Final = named("source", wide=True, below=True)
_UNITS: Final = {**dict.fromkeys(_DURATIONS, duration), "bytes": size, "max_bytes": size}


def topic_document(topic: ShownTopic) -> Document:
    """Return the document of one topic: the declared settings come first, then the defaults, then the access.

    On a narrow terminal, the place of a declaration is below it, and the settings of brokers are left out.
    """
    shown: dict[Column | str, Callable[[ShownValue], Words]] = {named("setting"): _name, named("value"): _value}
    declared = grid((each for each in topic.values if each.location), {**shown, _LOCATION: _source})
    defaults = grid(
        (each for each in topic.values if not each.location), {**shown, named("source", wide=True): _source}
    )
    access = grid(
        topic.access,
        {
            named("ACL"): lambda acl: acl.text,
            named("implied"): lambda acl: f"implies {', '.join(acl.implied)}" if acl.implied else "",
            _LOCATION: _origins,
        },
    )
    title = f"{topic.name} on stack {topic.stack}, Kafka {topic.kafka}"
    sections = [
        DocumentSection(heading, (Table(*table, headed=False),), heading=line(heading), titled=True)
        for heading, table in ((title, declared), ("defaults", defaults), ("access", access))
        if table[1]
    ]
    return Document("Topic", topic.name, "", "", tuple(sections), "")


def list_document(topics: ListedTopics) -> Document:
    """Return one line for each topic with its main settings; values in parentheses are defaults."""
    columns, rows = grid(
        topics.topics,
        {
            named("topic"): lambda each: each.topic,
            named("parts"): lambda each: str(each.partitions),
            named("replicas"): lambda each: str(each.replication_factor),
            named("min ISR"): lambda each: _setting(each, "min.insync.replicas"),
            named("cleanup"): lambda each: _setting(each, "cleanup.policy"),
            named("retention"): lambda each: _setting(each, "retention.ms"),
            named("owner"): lambda each: each.owner or NOTHING,
            named("declared in", wide=True, below=True): lambda each: each.file,
        },
    )
    titles = Row(tuple(line(column.title) for column in columns))
    return Document("Topics", topics.stack, "", "", (Table(columns, (titles, *rows), headed=False),), "")


def _name(each: ShownValue) -> str:
    return ".".join(each.path[1:] if each.path[0] == "config" else each.path)


def _value(each: ShownValue) -> str:
    value = to_jsonable_python(each.value)
    text = ", ".join(map(_item, value)) if isinstance(value, list) else _item(value)
    text = str(value).lower() if isinstance(value, bool) else one_line(text)
    meaning = _in_units(each.path[-1], text)
    return f"{text} ({meaning})" if meaning else text or '""'


def _source(each: ShownValue) -> str:
    return f"{each.source}, unless the broker sets {each.broker_setting}" if each.broker_setting else each.source


def _origins(acl: ShownAcl) -> str:
    return "; ".join(f"{each.location} ({each.description})" for each in acl.sources)


def _setting(topic: ListedTopic, name: str) -> str:
    declared = topic.config.get(name)
    value = topic.defaults[name] if declared is None else declared
    if name == "retention.ms" and "delete" not in (topic.config.get("cleanup.policy") or "delete"):
        return NOTHING
    shown = NOTHING if value is None else _in_units(name, value) or value
    return shown if declared is not None else f"({shown})"


def _in_units(name: str, value: str) -> str | None:
    """Return ``7 d`` for 604800000 milliseconds; None if the plain number is as readable."""
    unit = _UNITS.get(name.rsplit(".", 1)[-1])
    if unit is None or not value.lstrip("-").isdigit():
        return None
    if int(value) == 2**63 - 1:
        return "unlimited"
    if int(value) < 0:
        return "no limit" if name == "retention.ms" else None
    return unit(int(value)) if int(value) >= 1000 else None


def _item(value: Any) -> str:
    return flow(value) if isinstance(value, dict) else str(value)
