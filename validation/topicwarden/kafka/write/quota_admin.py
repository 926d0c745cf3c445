"""Reads and writes client quotas (KIP-546), many with each request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, raise_if_refused
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.model.access import QuotaEntity

_EXACT, _DEFAULT = 0, 1
_ONE_BY_ONE: Final = 4
"""Entities up to which each one has a request of its own: a request describes one entity, or all."""

ENTITY_TYPES: Final = ("client-id", "user", "ip")


def alter_quotas(
    admin: KafkaAdminClient, quotas: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> dict[QuotaEntity, RequestError]:
    """Write the quotas of each entity; None removes one. Return the errors of those that were refused."""
    request = AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[
                    AlterClientQuotasRequest.EntryData.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity
                ],
                ops=[
                    AlterClientQuotasRequest.EntryData.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
            for entity, values in quotas.items()
        ],
        validate_only=False,
    )
    answer = send_to_any_broker(admin, request)
    return {
        _entity(entry.entity): error_of_code(entry.error_code, entry.error_message)
        for entry in answer.entries
        if entry.error_code
    }


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
    return {_entity(entry.entity): {value.key: value.value for value in entry.values} for entry in answer.entries or ()}


def _entity(parts: Iterable[Any]) -> QuotaEntity:
    return tuple(sorted((part.entity_type, part.entity_name) for part in parts))


def wait_for_quotas(
    admin: KafkaAdminClient, expected: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> frozenset[QuotaEntity]:
    """Wait until every broker has the quotas; return the entities for which one is late.

    None is a quota that must be gone. See ``broker_visibility``.
    """

    def visible(broker: int, pending: Mapping[QuotaEntity, Mapping[str, float | None]]) -> Collection[QuotaEntity]:
        found = read_quotas(admin, pending, broker)
        return [
            entity
            for entity, values in pending.items()
            if all(found.get(entity, {}).get(key) == value for key, value in values.items())
        ]

    return wait_for_every_broker(admin, expected, visible)
