"""``kafka:index/quota:Quota``: rates that clients, users or addresses may not exceed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from topicwarden.deploy.provider.batches import Batches, EngineCalls
from topicwarden.deploy.provider.properties import Properties
from topicwarden.deploy.provider.resource_type import Kind, PropertyType, ResourceType, as_texts, one_of
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.quota_admin import ENTITY_TYPES, QuotaEntity, alter_quotas, read_quotas, wait_for_quotas

_BATCH: Final = 1_000
_DEFAULT: Final = "entity-default"


def _numbers(config: Properties) -> str | None:
    for key, value in as_texts(config).items():
        try:
            float(value)
        except ValueError:
            return f"{key}: expected a number, got {value}"
    return None


def _raw_state(outputs: Properties) -> Properties:
    numbers: dict[str, Any] = {key: {"num": {}} for key in outputs.get("config") or {}}
    return {"obj": {"ps": {"config": {"map": {"el": numbers} if numbers else {}}}}}


QUOTA: Final = ResourceType(
    token="kafka:index/quota:Quota",
    properties={
        "entityName": PropertyType(replaces=True),
        "entityType": PropertyType(required=True, replaces=True, check=one_of(ENTITY_TYPES)),
        "config": PropertyType(Kind.MAP, check=_numbers),
    },
    id_of=lambda properties: f"{properties.get('entityName') or _DEFAULT}|{properties['entityType']}",
    raw_state=_raw_state,
)


class Quotas:
    """The client quotas of one cluster. The id of a quota is ``name|type``, for a default ``entity-default|type``."""

    def __init__(self, session: AdminSession, calls: EngineCalls) -> None:
        self._writes = Batches[QuotaEntity, Mapping[str, float | None], None](
            lambda quotas: session.write(alter_quotas, wait_for_quotas, quotas), _BATCH, calls=calls
        )
        self._reads = Batches[QuotaEntity, None, dict[str, float]](
            lambda entities: session.request(read_quotas, entities), _BATCH, calls=calls
        )

    async def create(self, inputs: Properties) -> None:
        """Write a quota."""
        entity = QuotaEntity(inputs["entityType"], inputs.get("entityName") or None)
        await self._writes.submit(entity, _rates(inputs))

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the rates, and remove those that are no longer declared.

        The official provider replaces the quota instead: it writes the new rates, and then removes all rates of the
        same name as the old ones.
        https://github.com/Mongey/terraform-provider-kafka/blob/main/kafka/resource_kafka_quota.go
        """
        await self._writes.submit(_entity(id), {**dict.fromkeys(_rates(olds)), **_rates(news)})

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the quota with this id, or None if it does not exist."""
        entity = _entity(id)
        values = await self._reads.submit(entity, None)
        if not values:
            return None
        properties: Properties = {"entityType": entity.type, "config": values}
        return {"entityName": entity.name, **properties} if entity.name else properties

    async def delete(self, id: str) -> None:
        """Remove the rates of the quota with this id."""
        entity = _entity(id)
        values = await self._reads.submit(entity, None)
        if values:
            await self._writes.submit(entity, dict.fromkeys(values))


def _rates(properties: Properties) -> dict[str, float]:
    return {key: float(value) for key, value in as_texts(properties.get("config") or {}).items()}


def _entity(id: str) -> QuotaEntity:
    name, _, kind = id.rpartition("|")
    return QuotaEntity(kind, None if name == _DEFAULT else name)
