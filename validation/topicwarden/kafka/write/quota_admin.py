"""Reads and writes client quotas (KIP-546), many with each request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, raise_if_refused
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker

_EXACT, _DEFAULT = 0, 1

ENTITY_TYPES: Final = ("client-id", "user", "ip")


@dataclass(frozen=True)
class QuotaEntity:
    """The client, user or address of a quota; without ``name``, all of this type that have no quota of their own."""

    type: str
    name: str | None


def alter_quotas(
    admin: KafkaAdminClient, quotas: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> dict[QuotaEntity, RequestError]:
    """Write the quotas of each entity; None removes one. Return the errors of those that were refused."""
    request = AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[
                    AlterClientQuotasRequest.EntryData.EntityData(entity_type=entity.type, entity_name=entity.name)
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
        QuotaEntity(entry.entity[0].entity_type, entry.entity[0].entity_name): error_of_code(
            entry.error_code, entry.error_message
        )
        for entry in answer.entries
        if entry.error_code
    }


def read_quotas(
    admin: KafkaAdminClient, entities: Collection[QuotaEntity], broker: int | None = None
) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas of each entity that ``broker`` knows; None for any broker. Those without any are left out."""
    found: dict[QuotaEntity, dict[str, float]] = {}
    for entity in entities:  # a request describes the entities of one filter
        component = DescribeClientQuotasRequest.ComponentData(
            entity_type=entity.type, match_type=_EXACT if entity.name else _DEFAULT, match=entity.name
        )
        answer = send_to_broker(admin, DescribeClientQuotasRequest(components=[component], strict=True), broker)
        raise_if_refused(answer)
        for entry in answer.entries or ():
            found[entity] = {value.key: value.value for value in entry.values}
    return found


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
