"""The settings of a stack's brokers in ``stacks/Pulumi.<stack>.yaml`` that the rules need, and all its problems.

- ``topicwarden:kafkaVersion: "3.9"``: the brokers' Kafka version, also as a full release (``3.9.1``)
- ``topicwarden:brokers: 3``: the number of brokers
- ``topicwarden:brokerMessageMaxBytes: 2MiB``: the brokers' ``message.max.bytes``, if it is not Kafka's default
- ``topicwarden:partitionFunctions: [module:function]``: the Python functions that topics may use as partitioners
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.model.field_types import FUNCTION
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.problem import Location, Problem
from topicwarden.model.project import Project
from topicwarden.model.units import SIZE
from topicwarden.specs import configs
from topicwarden.specs.connection_settings import read_connection_settings
from topicwarden.specs.registry_settings import read_registry_settings
from topicwarden.specs.spec_files import printable_path
from topicwarden.specs.yaml_nodes import ParsedDocument, read_documents

KAFKA_VERSION: Final = "topicwarden:kafkaVersion"
BROKER_COUNT: Final = "topicwarden:brokers"
MESSAGE_MAX_BYTES: Final = "topicwarden:brokerMessageMaxBytes"
PARTITION_FUNCTIONS: Final = "topicwarden:partitionFunctions"
CLUSTER: Final = "topicwarden:cluster"
"""``sandbox`` selects the local sandbox: see ``kafka/connection.py``."""
MOVED_TO: Final = "topicwarden:movedTo"
"""The id of the Kafka cluster that the stack moved to: see ``plan/cluster_identity.py``."""
SCHEMA_REGISTRY: Final = "topicwarden:schemaRegistry"
"""The Schema Registry for the audit: see ``specs/registry_settings.py``."""
HISTORY: Final = "topicwarden:history"
"""The location of the audits' history: see ``cli/audit.py``."""


@dataclass(frozen=True)
class BrokerSettings:
    """The brokers' Kafka version (such as ``4.1``), ``message.max.bytes`` and number; None if it is not set.

    ``partition_functions`` are the functions (``module:function``) that the audit of the stack may import.
    """

    kafka: str = configs.DEFAULT_KAFKA
    message_max_bytes: int | None = None
    count: int | None = None
    partition_functions: frozenset[str] = frozenset()

    def default(self, setting: str) -> str | None:
        """Return Kafka's default of a topic configuration; None if this version has no such setting or default."""
        definition = configs.definition(setting, self.kafka)
        return definition.default if definition else None


def read_brokers(project: Project, stack: str) -> tuple[BrokerSettings, list[Problem]]:
    """Return the broker settings of ``stack``, and the problems of its ``topicwarden:`` and ``kafka:`` settings.

    Missing and invalid settings have their default.
    """
    path = project.stacks / f"Pulumi.{stack}.yaml"
    file = printable_path(path.relative_to(project.root).as_posix())
    try:
        documents, problems = read_documents(path.read_bytes(), file)
    except OSError as error:
        return BrokerSettings(), [Problem(Location(file), f"cannot be read: {error.strerror}", "file-unreadable")]
    document = documents[0] if documents else ParsedDocument(file)
    config = document.value.get("config") if isinstance(document.value, dict) else None
    if config is not None and not isinstance(config, dict):
        message = f"config: expected a mapping, seen {describe_value(config)}"
        problems.append(Problem(document.at(("config",)), message, "stack-setting"))
    settings: Mapping[str, Any] = config if isinstance(config, dict) else {}
    for name in settings:
        if name.startswith("topicwarden:") and name not in _KNOWN:
            message = (
                f"unknown setting {quoted(name)}{did_you_mean(name, _KNOWN) or '; known are ' + ', '.join(_KNOWN)}"
            )
            problems.append(Problem(document.at_key(("config", name)), message, "stack-setting"))
    values: dict[str, Any] = {}
    for name, (field, parse) in _SETTINGS.items():
        if name in settings:
            try:
                values[field] = parse(settings[name])
            except ValueError as error:
                problems.append(Problem(document.at(("config", name)), f"{name}: {error}", "stack-setting"))
    problems += _connection_problems(document, settings, project)
    problems += _registry_problems(document, settings, project)
    return BrokerSettings(**values), problems


def _connection_problems(document: ParsedDocument, settings: Mapping[str, Any], project: Project) -> Iterator[Problem]:
    """Yield the problems of the ``kafka:`` settings that are visible without decryption, a cluster, or any file."""
    if settings.get(CLUSTER) != "sandbox":
        for name, message in read_connection_settings(settings, project.root, offline=True)[1]:
            yield Problem(document.at(("config", name)), f"{name}: {message}", "stack-setting")


def _registry_problems(document: ParsedDocument, settings: Mapping[str, Any], project: Project) -> Iterator[Problem]:
    value = settings.get(SCHEMA_REGISTRY)
    if value is None or (isinstance(value, dict) and "secure" in value):
        return
    for name, message in read_registry_settings(value, project.root, offline=True)[1]:
        path = ("config", SCHEMA_REGISTRY, *([name] if name else []))
        full_name = ".".join(path[1:])
        yield Problem(document.at(path), f"{full_name}: {message}", "stack-setting")


def _kafka(value: Any) -> str:
    lines = configs.kafka_lines()
    known = f"expected one of {', '.join(lines)}"
    if not isinstance(value, str):
        raise ValueError(f"{known} as text, seen {describe_value(value)}; put it in quotes")
    match = re.fullmatch(r"([0-9]+\.[0-9]+)(\.[0-9]+)?", value, re.ASCII)
    if not match or match[1] not in lines:
        raise ValueError(f"{known}, seen {describe_value(value)}; use the nearest version")
    return match[1]


def _bytes(value: Any) -> int:
    size = SIZE.parse(value) if isinstance(value, str) else value
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ValueError(f"expected a {SIZE.noun} such as {SIZE.example}, seen {describe_value(value)}")
    return size


def _count(value: Any) -> int:
    # `pulumi config set` writes every value as text.
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]{0,5}", value, re.ASCII) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"expected the number of brokers, such as 3, seen {describe_value(value)}")
    return number


def _functions(value: Any) -> frozenset[str]:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(FUNCTION, name):
            raise ValueError(f"expected a list such as [partitioners:by_country], seen {describe_value(name)}")
    return frozenset(names)


_SETTINGS: Final = {
    KAFKA_VERSION: ("kafka", _kafka),
    BROKER_COUNT: ("count", _count),
    MESSAGE_MAX_BYTES: ("message_max_bytes", _bytes),
    PARTITION_FUNCTIONS: ("partition_functions", _functions),
}
_KNOWN: Final = (*_SETTINGS, CLUSTER, MOVED_TO, SCHEMA_REGISTRY, HISTORY)
