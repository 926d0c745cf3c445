"""Reads ``stacks/Pulumi.<stack>.yaml`` without decryption, and finds all problems of its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import yaml

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import by_hosts
from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import describe_value, did_you_mean, quoted
from topicwarden.model.problem import MOST_PROBLEMS, Level, Location, Problem, limited
from topicwarden.model.project import Project
from topicwarden.specs.spec_files import printable_path
from topicwarden.specs.stacks import certificate_settings
from topicwarden.specs.stacks.connection_settings import NAMES, SECRETS, SERVERS, read_connection_settings
from topicwarden.specs.stacks.delivery_settings import CATALOGUE_SECRETS, RECEIVER_SECRETS
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.specs.stacks.registry_settings import SECRETS as REGISTRY_SECRETS
from topicwarden.specs.stacks.registry_settings import read_registry_settings
from topicwarden.specs.stacks.settings_reader import InvalidSetting, decoded, is_encrypted, name_of
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.specs.stacks.stack_settings import (
    BROKER_COUNT,
    CATALOGUES,
    CLUSTER,
    KAFKA_VERSION,
    MESSAGE_MAX_BYTES,
    METADATA_MAX_AGE,
    NOTIFICATIONS,
    PARTITION_FUNCTIONS,
    PROFILE,
    SANDBOX,
    SCHEMA_REGISTRY,
    SCOPE,
    SETTINGS,
    TWO_CLUSTERS,
)
from topicwarden.specs.yaml_core_schema import TAG
from topicwarden.specs.yaml_nodes import UNREADABLE, KeyPath, ParsedDocument, read_documents

_RULE: Final = "stack-setting"
_NAMESPACE: Final = "topicwarden:"
_NAMESPACES: Final = (_NAMESPACE, "kafka:")
_PULUMI_KEYS: Final = ("config", "environment", "secretsprovider", "encryptedkey", "encryptionsalt")
"""The keys of Pulumi's file. Source: ``ProjectStack`` in Pulumi's ``sdk/go/common/workspace/project.go``."""
_BROKER_FIELDS: Final = {
    KAFKA_VERSION: "kafka",
    BROKER_COUNT: "count",
    MESSAGE_MAX_BYTES: "message_max_bytes",
    PARTITION_FUNCTIONS: "partition_functions",
    METADATA_MAX_AGE: "metadata_max_age",
    PROFILE: "profile",
}


@dataclass(frozen=True)
class StackFile:
    """The settings of a stack that need no decryption; those that are missing or invalid have their default.

    ``scope_location`` is the location of the scope, None if the stack owns all topics. ``addresses`` identify the
    cluster: the addresses of its brokers, or ``sandbox``; empty if they are not known. ``tls``: clients use TLS.
    ``has_registry``: the file names a Schema Registry; ``registry_url`` is its URL, None if it is encrypted or invalid.
    """

    brokers: BrokerSettings = field(default_factory=BrokerSettings)
    scope: StackScope = EVERY_TOPIC
    scope_location: Location | None = None
    addresses: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    has_registry: bool = False
    registry_url: str | None = None
    tls: bool = False


def read_stack_file(project: Project, stack: str) -> StackFile:
    """Return the settings of ``stack``, and all problems of its ``topicwarden:`` and ``kafka:`` settings."""
    path = project.stacks / f"Pulumi.{stack}.yaml"
    file = printable_path(path.relative_to(project.root).as_posix())
    try:
        document, problems = read_stack_document(path, file)
    except OSError as error:
        problem = Problem(Location(file), f"cannot be read: {error.strerror}", "file-unreadable")
        return StackFile(problems=(problem,))
    problems += _misplaced(document)
    config = document.value.get("config") if isinstance(document.value, dict) else None
    if config is not None and not isinstance(config, dict):
        message = f"config: expected a mapping, got {describe_value(config)}"
        problems.append(Problem(document.at(("config",)), message, _RULE))
    settings: Mapping[str, Any] = config if isinstance(config, dict) else {}
    problems += islice(_unknown(document, settings), MOST_PROBLEMS + 1)
    problems += _plaintext(document, settings)
    problems += _unread_certificates(document, settings)
    values: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        if name in settings:
            try:
                values[name] = setting.read(settings[name], project.root)
            except InvalidSetting as error:
                problems += [_problem(document, ("config", name, *path), message) for path, message in error.problems]
            except ValueError as error:
                problems.append(_problem(document, ("config", name), str(error)))
    on_sandbox = values.get(CLUSTER) == SANDBOX
    connection, connection_problems = read_connection_settings(settings, project.root, offline=True)
    if on_sandbox:
        problems += [_problem(document, ("config", CLUSTER), TWO_CLUSTERS)] if settings.get(SERVERS) is not None else []
    else:
        problems += [_problem(document, ("config", *each.path), each.message) for each in connection_problems]
        if PROFILE not in values and (recognized := by_hosts(connection.servers)):
            values[PROFILE] = recognized.name
    return StackFile(
        brokers=BrokerSettings(**{field: values[name] for name, field in _BROKER_FIELDS.items() if name in values}),
        scope=values.get(SCOPE, EVERY_TOPIC),
        scope_location=document.at(("config", SCOPE)) if SCOPE in values else None,
        addresses=frozenset({SANDBOX} if on_sandbox else map(str.lower, connection.servers)),
        problems=tuple(limited(problems)),
        has_registry=settings.get(SCHEMA_REGISTRY) is not None,
        registry_url=_registry_url(settings, project.root),
        tls=connection.tls and not on_sandbox,
    )


def _registry_url(settings: Mapping[str, Any], root: Path) -> str | None:
    """Return the URL of the Schema Registry; None if there is none, or only an encrypted one."""
    if settings.get(SCHEMA_REGISTRY) is None:
        return None
    registry, _ = read_registry_settings(settings[SCHEMA_REGISTRY], root, offline=True)
    return registry.url if split_url(registry.url) else None


def _misplaced(document: ParsedDocument) -> Iterator[Problem]:
    """Yield the problems of a file without ``config``; other keys belong to Pulumi, which ignores unknown ones."""
    if document.value is not None and not isinstance(document.value, dict):
        yield Problem(document.at(()), f"expected a mapping, got {describe_value(document.value)}", _RULE)
        return
    for name in document.value or ():
        if name.startswith(_NAMESPACES):
            message = f"{quoted(name)} is outside of config, where Pulumi ignores it; move it under `config:`"
            yield Problem(document.at_key((name,)), message, _RULE)
        elif name not in _PULUMI_KEYS and (hint := did_you_mean(name, ["config"])):
            yield Problem(document.at_key((name,)), f"unknown key {quoted(name)}{hint}", _RULE)


def _plaintext(document: ParsedDocument, settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning for each secret that is not encrypted, as it would be in the history of Git."""
    registry = _mapping(settings.get(SCHEMA_REGISTRY))
    values: dict[tuple[str, ...], Any] = {(name,): settings.get(name) for name in SECRETS}
    values |= {(SCHEMA_REGISTRY, name): registry.get(name) for name in REGISTRY_SECRETS}
    for setting, secrets in ((CATALOGUES, CATALOGUE_SECRETS), (NOTIFICATIONS, RECEIVER_SECRETS)):
        for receiver, parts in _mapping(settings.get(setting)).items():
            values |= {(setting, str(receiver), name): _mapping(parts).get(name) for name in secrets}
    for path, value in values.items():
        if isinstance(value, str) and value and not certificate_settings.is_public(path[-1], value):
            option = f"--path '{'.'.join(path)}'" if len(path) > 1 else path[0]
            message = f"{path[-1]} is not encrypted; `pulumi config set --secret {option}` encrypts it in this file"
            yield Problem(document.at(("config", *path)), message, "plaintext-secret", Level.WARNING)


def _mapping(value: Any) -> dict[str, Any]:
    """Return a setting that is a mapping, or the same as JSON; empty if it is something else."""
    parsed = decoded(value)
    return parsed if isinstance(parsed, dict) else {}


def _unread_certificates(document: ParsedDocument, settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning for each certificate and key, which this installation cannot read."""
    registry = _mapping(settings.get(SCHEMA_REGISTRY))
    certificates = [name for name in certificate_settings.NAMES if name != certificate_settings.PASSPHRASE]
    paths: list[tuple[str, ...]] = [
        ("config", f"kafka:{name}") for name in certificates if settings.get(f"kafka:{name}")
    ]
    paths += [("config", SCHEMA_REGISTRY, name) for name in certificates if registry.get(name)]
    for path in paths if paths and not certificate_settings.readable() else ():
        message = (
            f"{path[-1]} is not checked, because the Python package cryptography is not installed: "
            "`pip install 'topicwarden[cluster]'`"
        )
        yield Problem(document.at(path), message, "unchecked-certificate", Level.WARNING)


def _unknown(document: ParsedDocument, settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the settings in our namespace that do not exist.

    An encrypted one is a secret of a project with the name topicwarden, such as a password of a file below ``access/``.
    """
    for name, value in settings.items():
        if name.startswith(_NAMESPACE) and name not in SETTINGS and not is_encrypted(value):
            of_kafka = f"kafka:{name.removeprefix(_NAMESPACE)}".lower()
            remedy = did_you_mean(of_kafka, [each for each in NAMES if each.lower() == of_kafka])
            remedy = remedy or did_you_mean(name, SETTINGS) or f"; known are {', '.join(SETTINGS)}"
            yield Problem(document.at_key(("config", name)), f"unknown setting {quoted(name)}{remedy}", _RULE)


def _problem(document: ParsedDocument, path: KeyPath, message: str) -> Problem:
    """Return the problem of the value at ``path``, which begins with ``config``."""
    return Problem(document.at(path), f"{name_of(path[1:])}: {message}", _RULE)


def read_stack_document(path: Path, file: str) -> tuple[ParsedDocument, list[Problem]]:
    """Return the document of ``path``, empty if there is none, and its problems as YAML.

    ``file`` is the path for messages. Raises OSError if the file cannot be read.
    """
    data = read_regular_file(path)
    documents, problems = read_documents(data, file)
    document = documents[0] if documents else ParsedDocument(file)
    problems += [each for each in document.problems if each.rule in UNREADABLE]
    if not problems:
        roots = list(yaml.compose_all(data, yaml.CSafeLoader))
        found = [each for root in roots[:1] for each in _misread(root, document.value)]
        found += [(root, "expected one document, got another; delete one") for root in roots[1:2]]
        problems += [
            Problem(Location(file, node.start_mark.line + 1, node.start_mark.column + 1), message, _RULE)
            for node, message in found
        ]
    return document, problems


def _misread(node: yaml.Node, value: Any, path: KeyPath = ()) -> Iterator[tuple[yaml.Node, str]]:
    """Yield each part of our settings that Pulumi, which has another parser, may read as another value; and a message.

    ``node`` is the part in YAML 1.1, where ``0123`` and ``yes`` are no text, and ``value`` what YAML 1.2 makes of it:
    None if it is no value. No message has the value, which may be a password.
    """
    name = name_of(path[1:]) or "config"
    if value is None and node.tag != f"{TAG}null":
        yield node, f"{name}: the value cannot be read; delete its tag, or quote it"
    elif isinstance(value, str) and node.tag != f"{TAG}str":
        yield node, f"{name}: the value is no text in YAML 1.1; quote it"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _misread(node.value[index], item, (*path, index))
    elif isinstance(value, dict):
        for key, item in node.value:
            child = (*path, str(key.value))
            if child[0] != "config" or (len(child) > 1 and not str(child[1]).startswith(_NAMESPACES)):
                continue
            if key.tag == f"{TAG}str" and key.value in value:
                yield from _misread(item, value[key.value], child)
            else:
                yield key, f"{name}: a key is no text in YAML 1.1; quote it"
