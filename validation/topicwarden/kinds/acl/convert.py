"""ACLs as YAML, in the scope of a stack, and on hosted services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from topicwarden.kafka_facts.access.roles import StreamsApplication, recognize
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kinds.access_converter import AccessConverter, Limit, YamlEntry
from topicwarden.kinds.acl.spec import operations_yaml
from topicwarden.model.access import ACLS, WILDCARD, Acl, DeclaredAccess, Operation, ResourceType
from topicwarden.model.message_text import counted

if TYPE_CHECKING:
    from topicwarden.specs.stacks.stack_scope import StackScope

_KEYS: Final = {ResourceType.GROUP: "groups", ResourceType.CLUSTER: "cluster"}


def _yaml(acls: Mapping[Acl, Any]) -> Iterator[YamlEntry]:
    recognized = recognize(acls, ())
    for name, application in recognized.applications.items():
        yield YamlEntry("applications", _streams(application), name)
    entries = [
        (_KEYS.get(kind, "acls"), {**_resource(kind, names.name, names.prefix), **operations_yaml(grant)})
        for (kind, names), grants in recognized.operations.items()
        for grant in grants
    ]
    for key in (*_KEYS.values(), "acls"):
        yield from (YamlEntry(key, entry) for of, entry in entries if of == key)


def _resource(kind: ResourceType, name: str, prefix: bool) -> dict[str, Any]:
    if kind is ResourceType.CLUSTER:
        return {}
    if kind is ResourceType.GROUP:
        return {"group": name, **({"prefix": True} if prefix else {})}
    return {"resource": str(kind), "name": name, **({"pattern": "Prefixed"} if prefix else {})}


def _streams(application: StreamsApplication) -> dict[str, Any]:
    return {
        "type": "streams",
        "principal": application.principal,
        **({"host": application.host} if application.host != WILDCARD else {}),
        **({"exactly_once": True} if application.exactly_once else {}),
        "application_id": application.application_id,
    }


def _outside(acl: Acl, scope: StackScope) -> str:
    return scope.foreign_part(acl) or ""


def _limits(access: DeclaredAccess, brokers: BrokerSettings, most: int | None) -> Iterator[Limit]:
    service, source = PROFILES[brokers.profile], ""
    if most is None and service.access.most_acls:
        most, fact = service.access.most_acls
        source = f" on {service.title} ({fact.source})"
    if most is not None and len(access.acls) > most:
        last = max((sources[0] for sources in access.acls.values()), key=lambda each: each.location)
        yield Limit(last, f"expected at most {counted(most, 'ACL')}{source}, got {len(access.acls):,}; use prefixes")


CONVERTER: Final = AccessConverter(
    ACLS,
    "ACLs",
    (Operation.DESCRIBE, ResourceType.CLUSTER),
    (Operation.ALTER, ResourceType.CLUSTER),
    "acl-drift",
    _yaml,
    str,
    _outside,
    _limits,
)
