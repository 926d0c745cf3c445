"""Reads client quotas from a cluster (KIP-546)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import DescribeClientQuotasRequest

from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.request_errors import raise_if_refused
from topicwarden.kinds.difference import LivePart, complete
from topicwarden.kinds.quota.change import QUOTAS
from topicwarden.kinds.quota.levels import QuotaEntity

_EXACT, _DEFAULT = 0, 1
_ONE_BY_ONE: Final = 4
"""Entities up to which each one has a request of its own: a request describes one entity, or all."""


def list_quotas(admin: KafkaAdminClient) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas of every entity. Needs DescribeConfigs on the Cluster resource."""
    return _described(admin, (), None)


def read_quotas(
    admin: KafkaAdminClient, entities: Collection[QuotaEntity], broker: int | None = None
) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas of each entity that ``broker`` knows; None for any broker. Those without any are left out."""
    if len(entities) > _ONE_BY_ONE:
        return {entity: found for entity, found in _described(admin, (), broker).items() if entity in entities}
    found: dict[QuotaEntity, dict[str, float]] = {}
    for entity in entities:
        found |= _described(admin, entity, broker)
    return found


def _described(
    admin: KafkaAdminClient, entity: Iterable[tuple[str, str | None]], broker: int | None
) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas of exactly ``entity``; of every entity for one without parts."""
    components = [
        DescribeClientQuotasRequest.ComponentData(
            entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name
        )
        for kind, name in entity
    ]
    request = DescribeClientQuotasRequest(components=components, strict=bool(components))
    answer = send_to_broker(admin, request, broker)
    raise_if_refused(answer)
    return {
        quota_entity(entry.entity): {value.key: value.value for value in entry.values} for entry in answer.entries or ()
    }


def quota_entity(parts: Iterable[Any]) -> QuotaEntity:
    """Return the entity of an answer."""
    return tuple(sorted((part.entity_type, part.entity_name) for part in parts))


LIVE = LivePart(QUOTAS, "DescribeClientQuotas", "DescribeConfigs on the Cluster resource", complete(list_quotas))
