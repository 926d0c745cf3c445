"""Writes client quotas (KIP-546), many with each request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.quota.live import quota_entity, read_quotas

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
        quota_entity(entry.entity): error_of_code(entry.error_code, entry.error_message)
        for entry in answer.entries
        if entry.error_code
    }


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
