"""Access as resources of Pulumi: their names and properties, and the access that a state has.

A name is a hash of what identifies the resource, never a position, so that moving a declaration to another file changes
nothing. Types are those of ``pulumi-kafka`` where they fit. ``ClientQuota`` and ``GroupConfig`` are our provider's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeAlias, cast

from topicwarden.model.access import (
    AccessKey,
    Acl,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    QuotaEntity,
    ResourceType,
    ScramUser,
    SecretReference,
    UndeclaredResource,
    quota_clients,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, AllowedChange

ACCESS_SET_TYPE: Final = "topicwarden:index:AccessSet"
DENIALS_TYPE: Final = "topicwarden:index:Denials"
ACL_TYPE: Final = "kafka:index/acl:Acl"
QUOTA_TYPE: Final = "kafka:index/quota:Quota"
CLIENT_QUOTA_TYPE: Final = "kafka:index/clientQuota:ClientQuota"
SCRAM_TYPE: Final = "kafka:index/userScramCredential:UserScramCredential"
GROUP_CONFIG_TYPE: Final = "kafka:index/groupConfig:GroupConfig"
ACCESS_TYPES: Final = (ACL_TYPE, QUOTA_TYPE, CLIENT_QUOTA_TYPE, SCRAM_TYPE, GROUP_CONFIG_TYPE)

ACL_PROPERTIES: Final = (
    "aclPrincipal",
    "aclHost",
    "aclOperation",
    "aclPermissionType",
    "aclResourceType",
    "aclResourceName",
    "resourcePatternTypeFilter",
)
"""The properties of an ACL, in the order of the fields of ``Acl``."""
_OFFICIAL_WORDS: Final = {ResourceType.TRANSACTIONAL_ID.value: "TransactionalID"}
"""Words of the official provider that differ from those of Kafka's Java classes."""
ACL_RESOURCE_TYPES: Final = {_OFFICIAL_WORDS.get(kind, kind.value): kind for kind in ResourceType}
"""The types of resources by the words of the official provider."""
_BETWEEN: Final = "@"
"""Separates the name of a secret and its version in ``passwordWoVersion``."""

Properties: TypeAlias = Mapping[str, Any]
NOT_DEPLOYED: Final = DeployedAccess()


def acl_properties(acl: Acl) -> dict[str, str]:
    """Return the properties of the resource of ``acl``."""
    values = (
        acl.principal,
        acl.host,
        acl.operation.value,
        acl.permission.value,
        _OFFICIAL_WORDS.get(acl.resource_type, acl.resource_type.value),
        acl.resource_name,
        acl.pattern_type.value,
    )
    return dict(zip(ACL_PROPERTIES, values, strict=True))


def acl_of(properties: Properties) -> Acl:
    """Return the ACL of a resource with ``properties``."""
    principal, host, operation, permission, kind, name, pattern = (str(properties[key]) for key in ACL_PROPERTIES)
    return Acl(
        principal,
        host,
        Operation(operation),
        PermissionType(permission),
        ACL_RESOURCE_TYPES[kind],
        name,
        PatternType(pattern),
    )


def quota_title(entity: QuotaEntity) -> str:
    """Return ``entity`` in words, such as ``quota of user billing, default client-id``."""
    return f"quota of {quota_clients(entity)}"


def user_title(user: str, mechanism: str) -> str:
    """Return a user's credential in words, such as ``SCRAM-SHA-512 credential of user billing``."""
    return f"{mechanism} credential of user {user}"


def group_title(group: str) -> str:
    """Return a group's settings in words, such as ``settings of group billing``."""
    return f"settings of group {group}"


def quota_type(entity: QuotaEntity) -> str:
    """Return the type of the resource for ``entity``; the official one knows only one part of an entity."""
    return QUOTA_TYPE if len(entity) == 1 else CLIENT_QUOTA_TYPE


def quota_properties(entity: QuotaEntity, rates: Mapping[str, float]) -> dict[str, Any]:
    """Return the properties of the resource that limits ``entity``; an empty name is the default of its type."""
    config = {key: _number(rate) for key, rate in sorted(rates.items())}
    if len(entity) > 1:
        return {"entity": {kind: name or "" for kind, name in entity}, "config": config}
    ((kind, name),) = entity
    return {"entityType": kind, "config": config} | ({} if name is None else {"entityName": name})


def quota_entity_of(properties: Properties) -> QuotaEntity:
    """Return the entity that a resource with ``properties`` limits."""
    if "entity" in properties:
        return tuple(sorted((str(kind), str(name) or None) for kind, name in properties["entity"].items()))
    return ((str(properties["entityType"]), properties.get("entityName") or None),)


def user_properties(user: ScramUser) -> dict[str, Any]:
    """Return the properties of the resource of ``user``, without the password."""
    password = {} if user.password is None else {"passwordWoVersion": password_version(user.password)}
    return {
        "username": user.name,
        "scramMechanism": user.mechanism,
        "scramIterations": float(user.iterations),
        **password,
    }


def password_version(password: SecretReference) -> str:
    """Return a text that changes if another secret, or another version of it, becomes the password."""
    return f"{password.name}{_BETWEEN}{password.version}"


def acl_name(acl: Acl) -> str:
    """Return the name of the resource of ``acl``."""
    return _hashed(*acl_properties(acl).values())


def quota_name(entity: QuotaEntity) -> str:
    """Return the name of the resource of the quota for ``entity``."""
    return _hashed(*entity)


def user_name(user: str, mechanism: str) -> str:
    """Return the name of the resource of a user's credential."""
    return _hashed(user, mechanism)


def group_name(group: str) -> str:
    """Return the name of the resource of a group's settings."""
    return _hashed(group)


def resource_names(access: DeclaredAccess | DeployedAccess | LiveAccess) -> dict[str, str]:
    """Return what each resource of ``access`` is in words, by the name of the resource."""
    return {
        **{acl_name(acl): str(acl) for acl in access.acls or ()},
        **{quota_name(entity): quota_title(entity) for entity in access.quotas or ()},
        **{user_name(*key): user_title(*key) for key in access.users or ()},
        **{group_name(group): group_title(group) for group in access.group_configs or ()},
    }


def resource_locations(access: DeclaredAccess) -> dict[str, Location]:
    """Return where each resource of ``access`` is declared first, by the name of the resource."""
    return {
        **{acl_name(acl): sources[0].location for acl, sources in access.acls.items() if sources},
        **{quota_name(entity): location for entity, (_, location) in access.quotas.items()},
        **{user_name(*key): location for key, (_, location) in access.users.items()},
        **{group_name(group): location for group, (_, location) in access.group_configs.items()},
    }


def recorded_access(
    access: DeclaredAccess, passwords: Iterable[tuple[str, str]] = (), departing: DeployedAccess = NOT_DEPLOYED
) -> dict[str, Any]:
    """Return the record of ``access`` for the state: where each part is declared, and what is allowed there.

    Of quotas and settings of groups, it has the names that are declared. ``passwords`` are the users whose password a
    deploy has written. The record of what is ``departing`` stays, in case that its deletion fails.
    """
    gone = {key: homes for key, homes in departing.homes.items() if key not in access.homes}
    values: dict[AccessKey, Collection[str]] = {}
    values.update({entity: rates for entity, rates in departing.quotas.items()})  # noqa: C416 -- the type of the key
    values.update(departing.group_configs)
    values.update({entity: rates for entity, (rates, _) in access.quotas.items()})
    values.update({group: config for group, (config, _) in access.group_configs.items()})
    files = {home for homes in gone.values() for home in homes}
    allow = {file: words for file, words in departing.allow.items() if file in files} | dict(access.allow)
    return {
        "declared": {
            resource_name(key): {"in": list(homes)} | ({"names": sorted(values[key])} if key in values else {})
            for key, homes in {**gone, **access.homes}.items()
        },
        "allow": {file: recorded_allowances(words) for file, words in sorted(allow.items())},
        "passwords": sorted(user_name(*user) for user in passwords),
    }


def resource_name(key: AccessKey) -> str:
    """Return the name of the resource of one part of access."""
    if isinstance(key, Acl):
        return acl_name(key)
    return group_name(key) if isinstance(key, str) else _hashed(*key)


def access_key(type: str, properties: Properties) -> AccessKey:
    """Return what identifies the access of a resource of ``type`` with ``properties``."""
    if type == ACL_TYPE:
        return acl_of(properties)
    if type == SCRAM_TYPE:
        return str(properties["username"]), str(properties["scramMechanism"])
    return str(properties["group"]) if type == GROUP_CONFIG_TYPE else quota_entity_of(properties)


def access_title(key: AccessKey, type: str) -> str:
    """Return one part of access in words; ``type`` is that of its resource."""
    if isinstance(key, Acl):
        return f"ACL {key}"
    if isinstance(key, str):
        return group_title(key)
    return user_title(*map(str, key)) if type == SCRAM_TYPE else quota_title(cast("QuotaEntity", key))


def deployed_access(resources: Iterable[Mapping[str, Any]]) -> DeployedAccess:
    """Return the access in ``resources``, which have the format of `pulumi stack export`.

    A resource under another URN than the program registers, a tainted one, and one that no deploy has declared as it
    is there are in ``undeclared``.
    """
    found = _Found(set(), {}, {}, {})
    records: dict[str, Mapping[str, Any]] = {}
    allow: dict[str, frozenset[Allowance]] = {}
    passwords: set[str] = set()
    ours = []
    for resource in resources:
        if resource["type"] == ACCESS_SET_TYPE:
            outputs = resource.get("outputs") or {}
            records, passwords = outputs.get("declared") or {}, {*(outputs.get("passwords") or ())}
            by_file = outputs.get("allow") or {}
            # Earlier versions recorded a list: what all files together allow.
            allow = {file: allowances(each) for file, each in by_file.items()} if isinstance(by_file, dict) else {}
        elif resource["type"] in ACCESS_TYPES:
            ours.append(resource)
    homes: dict[AccessKey, tuple[str, ...]] = {}
    undeclared = []
    for resource in ours:
        type, urn = str(resource["type"]), str(resource["urn"])
        properties = {**(resource.get("inputs") or {}), **(resource.get("outputs") or {})}
        try:
            key = access_key(type, properties)
        except (KeyError, ValueError):  # edited, so nothing tells what it is
            undeclared.append(UndeclaredResource(urn, urn, urn))
            continue
        name = resource_name(key)
        registered = registered_access(urn) and urn.endswith(f"::{name}")
        record = records.get(name) if registered else None
        if registered:
            found.add(type, properties)
        if record is not None:
            homes[key] = tuple(record["in"])
        as_declared = record is not None and _names(properties) <= {*record.get("names", ())}
        tainted = bool(resource.get("taint"))
        if tainted or not as_declared:
            undeclared.append(UndeclaredResource(urn, key, access_title(key, type), registered, tainted))
    return DeployedAccess(
        frozenset(found.acls),
        found.quotas,
        found.users,
        found.group_configs,
        homes,
        allow,
        frozenset(user for user in found.users if user in homes and user_name(*user) in passwords),
        tuple(undeclared),
    )


def _names(properties: Properties) -> frozenset[str]:
    """Return the names of the rates, or of the settings, of a resource."""
    return frozenset(str(name) for name in properties.get("config") or {} if name != "__defaults")


def registered_access(urn: str) -> bool:
    """Return whether the program of topicwarden registers the resource with this URN."""
    return f"::{ACCESS_SET_TYPE}$" in urn


def recorded_allowances(allow: Iterable[Allowance]) -> list[dict[str, str]]:
    """Return ``allow`` as the state records it."""
    return [
        {"change": allowance.change.value} | ({"until": allowance.until.isoformat()} if allowance.until else {})
        for allowance in sorted(allow, key=lambda allowance: allowance.change.value)
    ]


def allowances(records: Iterable[Mapping[str, str]]) -> frozenset[Allowance]:
    """Return the allowances that ``recorded_allowances`` has recorded."""
    return frozenset(
        Allowance(AllowedChange(record["change"]), date.fromisoformat(record["until"]) if "until" in record else None)
        for record in records
    )


@dataclass(frozen=True)
class _Found:
    acls: set[Acl]
    quotas: dict[QuotaEntity, Mapping[str, float]]
    users: dict[tuple[str, str], ScramUser]
    group_configs: dict[str, Mapping[str, str]]

    def add(self, kind: str, properties: Properties) -> None:
        config = {str(key): value for key, value in (properties.get("config") or {}).items() if key != "__defaults"}
        if kind == ACL_TYPE:
            self.acls.add(acl_of(properties))
        elif kind in (QUOTA_TYPE, CLIENT_QUOTA_TYPE):
            self.quotas[quota_entity_of(properties)] = {key: float(rate) for key, rate in config.items()}
        elif kind == SCRAM_TYPE:
            user = _user(properties)
            self.users[user.name, user.mechanism] = user
        elif kind == GROUP_CONFIG_TYPE:
            self.group_configs[str(properties["group"])] = {key: str(value) for key, value in config.items()}


def _user(properties: Properties) -> ScramUser:
    name, _, version = str(properties.get("passwordWoVersion") or "").partition(_BETWEEN)
    return ScramUser(
        str(properties["username"]),
        str(properties["scramMechanism"]),
        int(properties["scramIterations"]),
        SecretReference(name, version) if name else None,
    )


def _number(rate: float) -> str:
    """Return ``rate`` in the spelling of the provider, which has no decimals for a whole number."""
    return str(int(rate)) if rate.is_integer() else str(rate)


def _hashed(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]
