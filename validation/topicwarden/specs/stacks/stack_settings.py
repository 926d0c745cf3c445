"""The ``topicwarden:`` settings of ``stacks/Pulumi.<stack>.yaml``: their meaning, JSON Schema and reader.

`check` judges all of them offline. The ``kafka:`` settings are in ``connection_settings.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from topicwarden.kafka_facts import configs
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.field_types import FUNCTION
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.units import DURATION, SIZE, ValueUnit
from topicwarden.specs.stacks import delivery_settings
from topicwarden.specs.stacks.connection_settings import SERVERS
from topicwarden.specs.stacks.delivery_settings import (
    RECEIVER_KEYS,
    RECEIVER_NAME,
    read_catalogue_settings,
    read_receivers,
)
from topicwarden.specs.stacks.registry_settings import KEYS, read_registry_settings
from topicwarden.specs.stacks.settings_reader import InvalidSetting, SettingProblem, is_encrypted
from topicwarden.specs.stacks.stack_scope import GLOB, StackScope, stack_scope

KAFKA_VERSION: Final = "topicwarden:kafkaVersion"
BROKER_COUNT: Final = "topicwarden:brokers"
MESSAGE_MAX_BYTES: Final = "topicwarden:brokerMessageMaxBytes"
METADATA_MAX_AGE: Final = "topicwarden:metadataMaxAge"
PARTITION_FUNCTIONS: Final = "topicwarden:partitionFunctions"
CLUSTER: Final = "topicwarden:cluster"
MOVED_TO: Final = "topicwarden:movedTo"
SCHEMA_REGISTRY: Final = "topicwarden:schemaRegistry"
HISTORY: Final = "topicwarden:history"
CATALOGUES: Final = "topicwarden:catalogues"
NOTIFICATIONS: Final = "topicwarden:notifications"
SCOPE: Final = "topicwarden:scope"
PROFILE: Final = "topicwarden:profile"

SANDBOX: Final = "sandbox"
"""The value of ``topicwarden:cluster`` for the cluster of this machine."""

TWO_CLUSTERS: Final = f"selects the sandbox, and {SERVERS} another cluster; remove one of them"
"""The message about a stack with both settings. The sandbox would win."""

ENCRYPTED: Final = {
    "type": "object",
    "properties": {"secure": {"type": "string"}},
    "required": ["secure"],
    "additionalProperties": False,
}
"""The JSON Schema of a value that Pulumi encrypted."""

_TEXT: Final = {"type": "string", "minLength": 1}
_INT: Final = 2**31 - 1
_LONG: Final = 2**63 - 1


@dataclass(frozen=True)
class StackSetting:
    """A setting: its description and JSON Schema for editors, and the function that reads its value.

    ``read`` gets the value, not decrypted, and the project's folder. It raises ValueError with a message without the
    name of the setting, or InvalidSetting.
    """

    description: str
    schema: dict[str, Any]
    read: Callable[[Any, Path], Any]


def named_profile(value: Any) -> ServiceProfile:
    """Return the profile with the name ``value``. Raises ValueError with the rest of a message if there is none."""
    if not isinstance(value, str) or value not in PROFILES:
        known = f"one of {', '.join(PROFILES)}"
        hint = did_you_mean(value, PROFILES) if isinstance(value, str) else ""
        raise ValueError(f"expected {known}, got {describe_value(value)}{hint}")
    return PROFILES[value]


def _profile(value: Any, _root: Path) -> str:
    return named_profile(value).name


def _kafka(value: Any, _root: Path) -> str:
    lines = configs.kafka_lines()
    known = f"expected one of {', '.join(lines)}"
    if not isinstance(value, str):
        raise ValueError(f"{known} as text, got {describe_value(value)}; put it in quotes")
    match = re.fullmatch(r"([0-9]+\.[0-9]+)(\.[0-9]+)?", value, re.ASCII)
    if not match or match[1] not in lines:
        raise ValueError(f"{known}, got {describe_value(value)}; use the nearest version")
    return match[1]


def _number_in(unit: ValueUnit, most: int) -> Callable[[Any, Path], int]:
    def read(value: Any, _root: Path) -> int:
        number = unit.parse(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"expected a {unit.noun} such as {unit.example}, got {describe_value(value)}")
        if number > most:
            raise ValueError(f"expected a {unit.noun} of at most {most}, the maximum of Kafka's setting, got {number}")
        return number

    return read


def _count(value: Any, _root: Path) -> int:
    # `pulumi config set` writes every value as text.
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,5}", value, re.ASCII) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"expected the number of brokers, such as 3, got {describe_value(value)}")
    return number


def _functions(value: Any, _root: Path) -> frozenset[str]:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(FUNCTION, name):
            raise ValueError(f"expected a list such as [partitioners:by_country], got {describe_value(name)}")
    return frozenset(names)


def _cluster(value: Any, _root: Path) -> str | None:
    if value is not None and value != SANDBOX:
        seen = quoted(value) if isinstance(value, str) else describe_value(value)
        raise ValueError(
            f"expected {SANDBOX}, got {seen}; name any other cluster with kafka:bootstrapServers, and remove this"
        )
    return SANDBOX if value else None


def _text(expected: str) -> Callable[[Any, Path], str | None]:
    def read(value: Any, _root: Path) -> str | None:
        if value is None or is_encrypted(value):
            return None
        if not isinstance(value, str) or not value:
            remedy = "; put it in quotes" if isinstance(value, (int, float)) else ""
            raise ValueError(f"expected {expected}, got {describe_value(value)}{remedy}")
        return value

    return read


def _parts(
    read: Callable[..., tuple[Any, list[SettingProblem]]], *, may_be_empty: bool = True
) -> Callable[[Any, Path], None]:
    """Return a function that checks all parts of a mapping that are not encrypted."""

    def check(value: Any, root: Path) -> None:
        if is_encrypted(value) or (value is None and may_be_empty):
            return
        if problems := read(value, root, offline=True)[1]:
            raise InvalidSetting(*problems)

    return check


def _scope(value: Any, _root: Path) -> StackScope:
    return stack_scope(value)


def _catalogue_schema() -> dict[str, Any]:
    """Return the schema of a catalogue."""
    texts = {
        key: {"type": "string", "pattern": pattern} for key, pattern in delivery_settings.CATALOGUE_PATTERNS.items()
    }
    return {
        "type": "object",
        "properties": {key: {"anyOf": [texts.get(key, _TEXT), ENCRYPTED]} for key in delivery_settings.CATALOGUE_KEYS},
        "required": [delivery_settings.CATALOGUE_ADDRESS],
        "additionalProperties": False,
    }


def _or_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a mapping that may also be written as JSON text, as `pulumi config set` does."""
    return {"anyOf": [schema, {"type": "string", "pattern": r"^\{"}]}


_lines: Final = configs.kafka_lines()
_patterns: Final = {"type": "string", "pattern": f"^{GLOB}$"}
_texts: Final = {"type": "array", "items": _TEXT, "minItems": 1}

SETTINGS: Final = {
    CLUSTER: StackSetting(
        "`sandbox` is the cluster of `topicwarden sandbox up`. The `kafka:` settings describe any other cluster.",
        {"const": SANDBOX},
        _cluster,
    ),
    SCOPE: StackSetting(
        "The topics and the access that the stack owns, if the cluster has topics of other teams. Everything else "
        "is not audited, not reported, and not touched. `check` refuses declared topics and access outside of it.",
        _or_json(
            {
                "type": "object",
                "properties": {
                    "topics": {
                        "description": "Patterns of topic names: `orders.*` includes topics, `!orders.tmp.*` excludes "
                        "them. Exclusions always win.",
                        "anyOf": [_patterns, {"type": "array", "items": _patterns, "minItems": 1}],
                    }
                }
                | {
                    key: {"description": f"Patterns of {noun}; by default, all.", "anyOf": [_TEXT, _texts]}
                    for key, noun in (
                        ("principals", "principals with access: `User:orders-*`"),
                        ("groups", "group ids"),
                        ("transactional_ids", "transactional ids"),
                    )
                },
                "required": ["topics"],
                "additionalProperties": False,
            }
        ),
        _scope,
    ),
    PROFILE: StackSetting(
        "The managed or compatible Kafka service: see docs/services.md. The default is recognized, else `apache`.",
        {"enum": list(PROFILES)},
        _profile,
    ),
    KAFKA_VERSION: StackSetting(
        f"The brokers' Kafka version, one of {', '.join(_lines)}; also a full release such as {_lines[0]}.1.",
        {"type": "string", "pattern": rf"^({'|'.join(map(re.escape, _lines))})(\.[0-9]+)?$"},
        _kafka,
    ),
    BROKER_COUNT: StackSetting(
        "The number of brokers. `check` refuses a replication factor above it.",
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[1-9][0-9]{0,5}$"}]},
        _count,
    ),
    MESSAGE_MAX_BYTES: StackSetting(
        "The brokers' `message.max.bytes`, if it is not Kafka's default: 2MiB.",
        {"anyOf": [{"type": "integer", "minimum": 0, "maximum": _INT}, {"type": "string", "pattern": SIZE.pattern}]},
        _number_in(SIZE, _INT),
    ),
    METADATA_MAX_AGE: StackSetting(
        "How long producers may take to notice new partitions; the default is `24h`. It must be at least the "
        "`metadata.max.age.ms` of all producers, which is 5 minutes by default. The check `key-partition` judges "
        "records that were written this time after the first audit that saw today's number of partitions.",
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": _LONG},
                {"type": "string", "pattern": DURATION.pattern},
            ]
        },
        _number_in(DURATION, _LONG),
    ),
    PARTITION_FUNCTIONS: StackSetting(
        "Python functions, `module:function`, that topics may name as partitioners and that the audit may import.",
        {
            "anyOf": [
                {"type": "string", "pattern": FUNCTION},
                {"type": "array", "items": {"type": "string", "pattern": FUNCTION}},
            ]
        },
        _functions,
    ),
    SCHEMA_REGISTRY: StackSetting(
        "The Schema Registry: a URL, a mapping of `url` and credentials, or `sandbox` for the one that `topicwarden "
        "sandbox up` starts.",
        {
            "anyOf": [
                {"type": "string", "pattern": r"^(https?://|\{|sandbox$)"},
                {
                    "type": "object",
                    "properties": {key: {"anyOf": [_TEXT, ENCRYPTED]} for key in KEYS},
                    "required": ["url"],
                    "additionalProperties": False,
                },
                ENCRYPTED,
            ]
        },
        _parts(read_registry_settings),
    ),
    HISTORY: StackSetting(
        "Where audits remember what they saw: a path in the project, or a URI such as `s3a://audits/topicwarden`; "
        "`none` for no history. The default is `.cache/history/<stack>`.",
        {"anyOf": [_TEXT, ENCRYPTED]},
        _text("a path or a URI such as s3a://audits/topicwarden"),
    ),
    CATALOGUES: StackSetting(
        "Data catalogues that get the verdicts of each audit, by name: a mapping with `openlineage` (a URL, or the "
        "path of a file) and `token`.",
        {
            "anyOf": [
                _or_json(
                    {
                        "type": "object",
                        "minProperties": 1,
                        "propertyNames": {"pattern": delivery_settings.CATALOGUE_NAME},
                        "additionalProperties": _catalogue_schema(),
                    }
                ),
                ENCRYPTED,
            ]
        },
        _parts(read_catalogue_settings),
    ),
    NOTIFICATIONS: StackSetting(
        "Receivers of notifications about findings, by name, each with the `url` of a webhook and credentials. "
        "`topicwarden help notifications` explains them.",
        {
            "anyOf": [
                _or_json(
                    {
                        "type": "object",
                        "propertyNames": {"pattern": RECEIVER_NAME},
                        "additionalProperties": {
                            "type": "object",
                            "properties": {key: {"anyOf": [_TEXT, ENCRYPTED]} for key in RECEIVER_KEYS},
                            "required": ["url"],
                            "additionalProperties": False,
                        },
                    }
                ),
                ENCRYPTED,
            ]
        },
        _parts(read_receivers, may_be_empty=False),
    ),
    MOVED_TO: StackSetting(
        "Kafka's id of the cluster that the stack moved to. It confirms that deploys and audits are "
        "of another cluster than the last ones.",
        {"anyOf": [_TEXT, ENCRYPTED]},
        _text("the id of a Kafka cluster"),
    ),
}
