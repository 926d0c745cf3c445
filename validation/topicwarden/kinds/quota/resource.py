"""``kafka:index/quota:Quota`` and ``ClientQuota``: rates that clients, users or addresses may not exceed.

The official type knows entities of one part. ``ClientQuota`` is our own, for a user and a client id together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from topicwarden.kafka.write.access_admin import ENTITY_TYPES, alter_quotas, wait_for_quotas
from topicwarden.kinds.access_resource import AccessResource, settings_of
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.quota.change import QUOTAS, quota_title
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.quota.live import read_quotas
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType, as_texts, one_of
from topicwarden.kinds.settings_resources import SettingsRequests, SettingsResources
from topicwarden.model.topic import AllowedChange

QUOTA_TYPE: Final = "kafka:index/quota:Quota"
CLIENT_QUOTA_TYPE: Final = "kafka:index/clientQuota:ClientQuota"
_DEFAULT: Final = "entity-default"


def quota_properties(entity: QuotaEntity, rates: Mapping[str, float]) -> dict[str, Any]:
    """Return the properties of the resource that limits ``entity``; an empty name is the default of its type."""
    config = {key: _number(rate) for key, rate in sorted(rates.items())}
    if len(entity) > 1:
        return {"entity": {kind: name or "" for kind, name in entity}, "config": config}
    ((kind, name),) = entity
    return {"entityType": kind, "config": config} | ({} if name is None else {"entityName": name})


def _quota_id(properties: Mapping[str, Any]) -> str:
    """Return the id of the official provider; another one for a name that has there the id of the default."""
    kind, name = str(properties["entityType"]), properties.get("entityName") or None
    return json.dumps({kind: name}) if name == _DEFAULT else f"{name or _DEFAULT}|{kind}"


def quota_entity_of(properties: Mapping[str, Any]) -> QuotaEntity:
    """Return the entity that a resource with ``properties`` limits."""
    if "entity" in properties:
        return tuple(sorted((kind, name or None) for kind, name in as_texts(properties["entity"]).items()))
    return ((str(properties["entityType"]), properties.get("entityName") or None),)


def _number(rate: float) -> str:
    """Return ``rate`` in the spelling of the provider, which has no decimals for a whole number."""
    return str(int(rate)) if rate.is_integer() else str(rate)


def _numbers(config: Properties) -> str | None:
    for key, value in as_texts(config).items():
        try:
            float(value)
        except ValueError:
            return f"{key}: expected a number, got {value}"
    return None


def _entity_types(entity: Properties) -> str | None:
    types = sorted(as_texts(entity))
    known = ", ".join(ENTITY_TYPES)
    valid = len(types) > 1 and set(types) <= {*ENTITY_TYPES}
    return None if valid else f"expected at least two keys of {known}, got {', '.join(types)}"


def _raw_state(outputs: Properties) -> Properties:
    numbers: dict[str, Any] = {key: {"num": {}} for key in outputs.get("config") or {}}
    return {"obj": {"ps": {"config": {"map": {"el": numbers} if numbers else {}}}}}


QUOTA: Final = PulumiType(
    token=QUOTA_TYPE,
    properties={
        "entityName": PropertyType(replaces=True),
        "entityType": PropertyType(required=True, replaces=True, check=one_of(ENTITY_TYPES)),
        "config": PropertyType(Kind.MAP, check=_numbers),
    },
    id_of=_quota_id,
    raw_state=_raw_state,
    title=lambda properties: quota_title(quota_entity_of(properties)),
    permission="AlterConfigs on the cluster",
)
CLIENT_QUOTA: Final = PulumiType(
    token=CLIENT_QUOTA_TYPE,
    properties={
        "entity": PropertyType(Kind.MAP, required=True, replaces=True, check=_entity_types),
        "config": PropertyType(Kind.MAP, check=_numbers),
    },
    id_of=lambda properties: json.dumps(as_texts(properties["entity"]), sort_keys=True),
    raw_state=lambda _: {"obj": {}},
    title=lambda properties: quota_title(quota_entity_of(properties)),
    permission="AlterConfigs on the cluster",
)
"""An empty name in ``entity`` is the default of its type."""


def parsed_quota_id(id: str) -> QuotaEntity:
    """Return the entity of a resource with this id: ``name|type``, ``entity-default|type``, or the entity in JSON."""
    try:
        parsed = json.loads(id)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return quota_entity_of({"entity": parsed})
    name, _, kind = id.rpartition("|")
    return ((kind, None if name == _DEFAULT else name),)


_REQUESTS: Final = SettingsRequests(alter_quotas, wait_for_quotas, read_quotas, lambda entity: entity, 100_000)
RESOURCE: Final[AccessResource] = AccessResource(
    QUOTAS,
    (QUOTA, CLIENT_QUOTA),
    lambda entity: entity,
    quota_properties,
    quota_entity_of,
    lambda properties: {key: float(rate) for key, rate in settings_of(properties).items()},
    lambda target: Quotas(*target.cluster),
    lambda _: AllowedChange.THROTTLE_CLIENTS,
    type_of=lambda entity: QUOTA_TYPE if len(entity) == 1 else CLIENT_QUOTA_TYPE,
)
"""The official type knows only one part of an entity."""
Quotas: Final[partial[SettingsResources]] = partial(
    SettingsResources, kind=RESOURCE, requests=_REQUESTS, key_of_id=parsed_quota_id
)
"""The official provider replaces an entry to change it: it writes the new values, and then removes all values of the
same name as the old ones.
https://github.com/Mongey/terraform-provider-kafka/blob/main/kafka/resource_kafka_quota.go
"""
