"""The fields of a topic that an expression can use, under the name `topic`:

| field | content |
|---|---|
| `topic.name`, `topic.domain` | texts |
| `topic.owner`, `topic.description` | texts, or `null` if not declared |
| `topic.partitions`, `topic.replication_factor` | whole numbers |
| `topic.config["retention.ms"]` | every setting of the stack's Kafka version, in Kafka's own type: the declared \
value, else the default of the brokers, the service or Kafka; times in milliseconds, sizes in bytes, `cleanup.policy` \
as a list |
| `topic.declared` | the names of the declared settings, as a list |
| `topic.contents` | as in the YAML: `topic.contents.key.required`, `topic.contents.records.max_bytes`; times in \
milliseconds, sizes in bytes; if not declared `null`, but `false` for `key.required` and `registry`, and `[]` for \
`headers.required` and `expressions`; `registry` is `true` also for a mapping |
| `topic.access` | the lists `produce`, with `principal`, `host`, `transactional_id` and `prefix`; `consume`, with \
`group` instead of `transactional_id`, and `max_lag`; and `acls`, with `principal`, `host`, `operations` and \
`permission` |
| `topic.allow` | a list of texts |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import ConfigDefinition, definitions
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic

_SETTING: Final = re.compile(r"""\bconfig\s*\[\s*(["'])([a-z.]+)\1\s*\]""")


@dataclass(frozen=True)
class TopicFields:
    """The fields of a topic that expressions use; ``settings`` is None if they may use any setting."""

    settings: frozenset[str] | None
    contents: bool
    access: bool


def required_fields(expressions: Iterable[str]) -> TopicFields:
    """Return the fields that the expressions may use; in case of doubt, more rather than fewer."""
    text = "\n".join(expressions)
    named = _SETTING.findall(text)
    any_setting = len(re.findall(r"\bconfig\b", text)) > len(named)
    return TopicFields(
        None if any_setting else frozenset(name for _, name in named), "contents" in text, "access" in text
    )


def view(topic: Topic, brokers: BrokerSettings, required: TopicFields) -> dict[str, Any]:
    """Return the ``required`` fields of ``topic`` as plain values, in the structure that the module docstring shows."""
    known = definitions(brokers.kafka)
    names = known.keys() if required.settings is None else required.settings & known.keys()
    defaults = _defaults(brokers)
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
        "contents": _contents(topic.contents) if required.contents else {},
        "access": _access(topic.access) if required.access else {},
        "allow": sorted(each.change.value for each in topic.allow),
    }


def _contents(contents: Contents) -> dict[str, Any]:
    dumped = contents.model_dump(mode="json", by_alias=True)
    for part in ("key", "value"):
        dumped[part]["registry"] = bool(contents.encoding(part).registry)
    return dumped


def _access(access: TopicAccess) -> dict[str, list[dict[str, Any]]]:
    return {
        "produce": [_grant(each, "transactional_id") for each in access.produce],
        "consume": [_grant(each, "group") | {"max_lag": each.max_lag} for each in access.consume],
        "acls": [
            {
                "principal": each.principal,
                "host": each.host,
                "operations": [operation.value for operation in each.operations],
                "permission": each.permission.value,
            }
            for each in access.acls
        ],
    }


def _grant(grant: Grant, name: str) -> dict[str, Any]:
    return {"principal": grant.principal, "host": grant.host, name: grant.name, "prefix": grant.prefix}


@cache
def _defaults(brokers: BrokerSettings) -> Mapping[str, Any]:
    defaults = ((each, brokers.default(each.name)) for each in definitions(brokers.kafka).values())
    return {each.name: None if default is None else _typed(each, default) for each, default in defaults}


def _typed(definition: ConfigDefinition, value: str) -> Any:
    if definition.type == "list":
        return [item.strip() for item in value.split(",") if item.strip()]
    if definition.type == "boolean":
        return value.lower() == "true"
    if definition.type == "string":
        return value
    try:
        return float(value) if definition.type == "double" else int(value)
    except ValueError:  # a live topic on another Kafka version may have a value of another type
        return value
