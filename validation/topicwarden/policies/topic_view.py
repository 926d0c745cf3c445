"""The topic as an expression sees it, under the name `topic`:

| field | what it is |
|---|---|
| `topic.name`, `topic.domain` | texts |
| `topic.owner`, `topic.description` | texts, or `null` where not declared |
| `topic.partitions`, `topic.replication_factor` | whole numbers |
| `topic.config["retention.ms"]` | every setting that the stack's Kafka has, by Kafka's own type: what is declared, \
else Kafka's default; times in milliseconds, sizes in bytes, `cleanup.policy` a list |
| `topic.declared` | the names of the settings that are declared, a list |
| `topic.contents` | as in the YAML: `topic.contents.key.required`, `topic.contents.records.max_bytes`; times in \
milliseconds, sizes in bytes; `null` where not declared, but `false` for `key.required` and `registry`, `[]` for \
`headers.required` and `expressions` |
| `topic.allow` | a list of texts |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from topicwarden.model.topic import Contents, Topic
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.configs import ConfigDefinition, definitions

_SETTING: Final = re.compile(r"""\bconfig\s*\[\s*(["'])([a-z.]+)\1\s*\]""")


@dataclass(frozen=True)
class TopicFields:
    """What of a topic some expressions look at, so that nothing else is made ready; ``settings`` None: all of them."""

    settings: frozenset[str] | None
    contents: bool


def needs(expressions: Iterable[str]) -> TopicFields:
    """What the expressions may look at: rather too much than too little."""
    text = "\n".join(expressions)
    named = _SETTING.findall(text)
    whole = len(re.findall(r"\bconfig\b", text)) > len(named)
    return TopicFields(None if whole else frozenset(name for _, name in named), "contents" in text)


def view(topic: Topic, brokers: BrokerSettings, needed: TopicFields) -> dict[str, Any]:
    """``topic`` as plain values, of the shape that this module's documentation says, as far as it is needed."""
    known = definitions(brokers.kafka)
    names = known.keys() if needed.settings is None else needed.settings & known.keys()
    defaults = _defaults(brokers.kafka)
    return {
        "name": topic.name,
        "domain": topic.domain,
        "owner": topic.owner,
        "description": topic.description,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "config": {
            name: _typed(known[name], topic.config[name]) if name in topic.config else defaults[name] for name in names
        },
        "declared": list(topic.config),
        "contents": _contents(topic.contents) if needed.contents else {},
        "allow": sorted(each.change.value for each in topic.allow),
    }


def _contents(contents: Contents) -> dict[str, Any]:
    return {
        "key": {
            "required": contents.key_required,
            "format": contents.key_format,
            "schema": contents.key_schema,
            "message": contents.key_message,
            "registry": contents.key_registry,
            "subject": contents.key_subject,
            "partitioner": contents.partitioner,
            "partition_expression": contents.partition_expression,
            "partition_function": contents.partition_function,
            "max_share": contents.key_max_share,
        },
        "value": {
            "format": contents.value_format,
            "schema": contents.value_schema,
            "message": contents.value_message,
            "registry": contents.value_registry,
            "subject": contents.value_subject,
        },
        "headers": {"required": list(contents.headers_required)},
        "timestamps": {
            "type": contents.timestamp_type,
            "max_ahead": contents.timestamp_max_ahead_ms,
            "max_late": contents.timestamp_max_late_ms,
        },
        "records": {"max_bytes": contents.record_max_bytes, "per_day": contents.records_per_day},
        "partitions": {"max_skew": contents.partition_max_skew},
        "expressions": [asdict(each) for each in contents.expressions],
    }


@cache
def _defaults(kafka: str) -> Mapping[str, Any]:
    known = definitions(kafka).values()
    return {each.name: None if each.default is None else _typed(each, each.default) for each in known}


def _typed(definition: ConfigDefinition, value: str) -> Any:
    if definition.type == "list":
        return [item.strip() for item in value.split(",") if item.strip()]
    if definition.type == "boolean":
        return value.lower() == "true"
    if definition.type == "string":
        return value
    try:
        return float(value) if definition.type == "double" else int(value)
    except ValueError:  # a live topic of another version
        return value
