"""The text of access: ``access:`` of a topic's file, and a file below ``access/``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from topicwarden.access.recognize import RecognizedAccess
from topicwarden.access.roles import StreamsApplication
from topicwarden.kinds.acl.spec import AclSpec, ConsumeSpec, GroupSpec, OperationsSpec, ProduceSpec
from topicwarden.kinds.client_metrics.spec import yaml_settings
from topicwarden.kinds.quota.spec import QuotaSpec
from topicwarden.model.access import (
    NO_TOPIC_ACCESS,
    WILDCARD,
    Grant,
    OperationGrant,
    PermissionType,
    QuotaEntity,
    ResourceType,
    ScramUser,
    TopicAccess,
)
from topicwarden.model.units import DURATION
from topicwarden.specs.access_model import AccessDocument
from topicwarden.specs.write.yaml_values import yaml_scalar

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:@=+-]*")
_QUOTA_PARTS: Final = {"user": "user", "client-id": "client_id", "ip": "ip"}


@dataclass(frozen=True)
class FileAccess:
    """The access that is not a single topic's: the content of a file below ``access/``."""

    recognized: RecognizedAccess = field(default_factory=RecognizedAccess)
    users: Iterable[ScramUser] = ()
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    group_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    client_metrics: Mapping[Any, Mapping[str, str]] = field(default_factory=dict)


def declarable(access: TopicAccess) -> tuple[TopicAccess, list[str]]:
    """Return the part of a topic's access that YAML can declare, and why each other part cannot be declared."""
    refused: list[str] = []

    def kept(model: type[BaseModel], entries: Iterable[Any], as_yaml: Any) -> list[Any]:
        return [entry for entry in entries if not refused_entry(model, as_yaml(entry), entry.host, refused)]

    return (
        TopicAccess(
            tuple(kept(ProduceSpec, access.produce, lambda each: _grant(each, "transactional_id"))),
            tuple(kept(ConsumeSpec, access.consume, lambda each: _grant(each, "group"))),
            tuple(kept(OperationsSpec, access.acls, _operations)),
        ),
        refused,
    )


def refused_entry(model: type[BaseModel], entry: dict[str, Any], host: str, refused: list[str]) -> bool:
    """Return whether ``model`` does not accept ``entry``, or changes its host; add the reason to ``refused``."""
    try:
        read = model.model_validate(entry)
    except ValidationError as error:
        refused.append(f"{flow(entry)}: {error.errors(include_url=False)[0]['msg']}")
        return True
    if getattr(read, "host", host) != host:
        refused.append(f"{flow(entry)}: Kafka compares addresses as text, and no client has this spelling of one")
        return True
    return False


def topic_access_lines(access: TopicAccess) -> Iterator[str]:
    """Yield the lines of ``access:`` of a topic; none without access."""
    if access == NO_TOPIC_ACCESS:
        return
    yield "access:"
    yield from _list("produce", [_short(_grant(each, "transactional_id")) for each in access.produce], "  ")
    yield from _list("consume", [_short(_grant(each, "group")) for each in access.consume], "  ")
    yield from _list("acls", [_operations(each) for each in access.acls], "  ")


def access_file_text(access: FileAccess, stack: str | None) -> tuple[str, list[str]]:
    """Return the text of a file below ``access/``, and why some access cannot be declared; empty text for none.

    The access is that of ``stack``, or of all stacks for None.
    """
    refused: list[str] = []
    lines = list(_lines(access, refused))
    if stack is not None and lines:
        lines = ["stacks:", f"  {yaml_scalar(stack)}:", *(f"    {line}" for line in lines)]
    return "".join(f"{line}\n" for line in lines), refused


def _lines(access: FileAccess, refused: list[str]) -> Iterator[str]:
    operations = access.recognized.operations
    yield from _section("applications", {n: _streams(a) for n, a in access.recognized.applications.items()})
    groups = [
        {"group": names.name, **({"prefix": True} if names.prefix else {}), **_operations(grant)}
        for (kind, names), grants in operations.items()
        if kind is ResourceType.GROUP
        for grant in grants
    ]
    yield from _list("groups", [each for each in groups if not _refused(GroupSpec, each, refused)])
    cluster = [
        _operations(grant)
        for (kind, _), grants in operations.items()
        if kind is ResourceType.CLUSTER
        for grant in grants
    ]
    yield from _list("cluster", [each for each in cluster if not _refused(OperationsSpec, each, refused)])
    acls = [
        {
            "resource": str(kind),
            "name": names.name,
            **({"pattern": "Prefixed"} if names.prefix else {}),
            **_operations(grant),
        }
        for (kind, names), grants in operations.items()
        if kind not in (ResourceType.GROUP, ResourceType.CLUSTER)
        for grant in grants
    ]
    yield from _list("acls", [each for each in acls if not _refused(AclSpec, each, refused)])
    yield from _users(access.users, refused)
    quotas = [_quota(entity, rates) for entity, rates in access.quotas.items()]
    yield from _list("quotas", [each for each in quotas if not _refused(QuotaSpec, each, refused)])
    configs = {
        group: {name: int(value) if value.isdecimal() else value for name, value in sorted(own.items())}
        for group, own in access.group_configs.items()
    }
    yield from _section(
        "group_configs",
        {n: each for n, each in configs.items() if not _refused(AccessDocument, {"group_configs": {n: each}}, refused)},
    )
    metrics = {str(key): yaml_settings(own) for key, own in access.client_metrics.items()}
    yield from _section(
        "client_metrics",
        {
            n: each
            for n, each in metrics.items()
            if not _refused(AccessDocument, {"client_metrics": {n: each}}, refused)
        },
    )


def _refused(model: type[BaseModel], entry: dict[str, Any], refused: list[str]) -> bool:
    return refused_entry(model, entry, str(entry.get("host", WILDCARD)), refused)


def _users(users: Iterable[ScramUser], refused: list[str]) -> Iterator[str]:
    by_name: dict[str, list[ScramUser]] = {}
    for user in users:
        by_name.setdefault(user.name, []).append(user)
    entries: dict[str, dict[str, Any]] = {}
    for name, credentials in sorted(by_name.items()):
        if len({each.iterations for each in credentials}) > 1:
            refused.append(f"user {name}: its mechanisms have different numbers of iterations")
            continue
        mechanisms = sorted(each.mechanism for each in credentials)
        password = credentials[0].password
        secret = re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("0123456789._-") or "user"
        entry = {
            "mechanism": mechanisms[0] if len(mechanisms) == 1 else mechanisms,
            "iterations": credentials[0].iterations,
            "password": {
                "secret": password.name if password else f"{secret}-password",
                "version": password.version if password else 1,
            },
        }
        if not _refused(AccessDocument, {"users": {name: entry}}, refused):
            entries[name] = entry
    if entries:
        yield "# Kafka never shows a password. Before the next deploy, write the one that is in use for each user:"
        yield "# pulumi config set --secret NAME. Another value replaces the password, and locks its clients out."
    yield from _section("users", entries)


def _streams(application: StreamsApplication) -> dict[str, Any]:
    return {
        "type": "streams",
        "principal": application.principal,
        **({"host": application.host} if application.host != WILDCARD else {}),
        **({"exactly_once": True} if application.exactly_once else {}),
        "application_id": application.application_id,
    }


def _grant(grant: Grant, key: str) -> dict[str, Any]:
    return {
        "principal": grant.principal,
        **({key: grant.name} if grant.name is not None else {}),
        **({"prefix": True} if grant.prefix else {}),
        **({"host": grant.host} if grant.host != WILDCARD else {}),
        **({"max_lag": DURATION.format(grant.max_lag)} if grant.max_lag is not None else {}),
    }


def grant_text(grant: Grant, consumes: bool) -> str:
    """Return an entry of ``consume`` or ``produce`` in one line: ``{principal: User:billing, group: billing}``."""
    return flow(_short(_grant(grant, "group" if consumes else "transactional_id")))


def _short(entry: dict[str, Any]) -> Any:
    return entry["principal"] if len(entry) == 1 else entry


def _operations(grant: OperationGrant) -> dict[str, Any]:
    return {
        "principal": grant.principal,
        "operations": [str(operation) for operation in grant.operations],
        **({"permission": "Deny"} if grant.permission is PermissionType.DENY else {}),
        **({"host": grant.host} if grant.host != WILDCARD else {}),
    }


def _quota(entity: QuotaEntity, rates: Mapping[str, float]) -> dict[str, Any]:
    defaults = [_QUOTA_PARTS[kind] for kind, name in entity if name is None]
    return {
        **{_QUOTA_PARTS[kind]: name for kind, name in entity if name is not None},
        **({"default": defaults} if defaults else {}),
        **{key: int(value) if value.is_integer() else value for key, value in sorted(rates.items())},
    }


def _section(key: str, entries: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if entries:
        yield f"{key}:"
        for name, entry in sorted(entries.items()):
            yield f"  {_flow_scalar(name)}: {flow(entry)}"


def _list(key: str, entries: list[Any], indent: str = "") -> Iterator[str]:
    if entries:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {flow(entry)}" for entry in entries)


def flow(value: Any) -> str:
    """Return ``value`` as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow_scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _flow_scalar(value) if isinstance(value, str) else json.dumps(value)


def _flow_scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and not text.endswith(":") and yaml_scalar(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
