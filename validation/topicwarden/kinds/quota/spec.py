"""The YAML of quotas, in a file below ``access/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry
from topicwarden.kinds.quota.change import QUOTAS, quota_title
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.field_types import STRING, Size, StrictModel, UserName, error_at, ip_address

QuotaRate = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
QuotaPart = Literal["user", "client_id", "ip"]
_PARTS: Final = ("user", "client_id", "ip")
CLIENT_KEYS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_KEYS: Final = ("connection_creation_rate",)
"""Kafka's keys of quotas of users and clients, and of addresses (``QuotaConfig``, KIP-546, KIP-599, KIP-612)."""


class QuotaSpec(StrictModel):
    """The quota of a user, of a client id, of both, or of an address; ``default`` has the parts without a name."""

    user: UserName | None = Field(default=None, description="The name of the user, without `User:`.")
    client_id: UserName | None = Field(default=None, description="The `client.id`.")
    ip: Annotated[str, PlainValidator(ip_address), WithJsonSchema(STRING)] | None = Field(
        default=None, description="The IP address."
    )
    default: list[QuotaPart] | None = Field(
        default=None, description="The parts that are the default: `[user]` limits each user without its own quota."
    )
    producer_byte_rate: Size | None = Field(default=None, description="Bytes per second and broker.")
    consumer_byte_rate: Size | None = Field(default=None, description="Bytes per second and broker.")
    request_percentage: QuotaRate | None = Field(default=None, description="Percentage of one thread's time.")
    controller_mutation_rate: QuotaRate | None = Field(
        default=None, description="Partitions created and deleted per second."
    )
    connection_creation_rate: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(
        default=None, description="New connections per second and broker, for an address."
    )

    @model_validator(mode="after")
    def _is_valid_entity(self) -> Self:
        defaults = self.default or []
        for part in _PARTS:
            if part in defaults and getattr(self, part) is not None:
                raise error_at("default", f"expected {part} once, got its name and its default; keep one")
        parts = [part for part in _PARTS if part in defaults or getattr(self, part) is not None]
        if not parts:
            raise error_at("", "expected user, client_id, ip or default, got none; write whom the quota limits")
        if "ip" in parts and len(parts) > 1:
            raise error_at(
                "ip", f"expected ip alone, got {' and '.join(parts)}: Kafka has no such quota; write two entries"
            )
        valid = IP_KEYS if "ip" in parts else CLIENT_KEYS
        written = [key for key in (*CLIENT_KEYS, *IP_KEYS) if getattr(self, key) is not None]
        if not written:
            raise error_at("", f"expected at least one of {', '.join(valid)}, got none; write the limit")
        for key in written:
            if key not in valid:
                raise error_at(key, f"Kafka has no such quota of {' and '.join(parts)}; known are {', '.join(valid)}")
        return self


class QuotaSettings(StrictModel):
    """The keys of quotas in a file below ``access/``."""

    quotas: list[QuotaSpec] | None = Field(default=None, description="Limits of users, clients and addresses.")


def _entries(file: AccessFile) -> Iterator[Entry]:
    for entry, location in file.entries(QUOTAS):
        rates = {key: float(entry[key]) for key in (*CLIENT_KEYS, *IP_KEYS) if entry.get(key) is not None}
        entity = _entity(entry)
        yield Entry(entity, rates, location, f"the {quota_title(entity)}")


def _entity(entry: Mapping[str, Any]) -> QuotaEntity:
    defaults = entry.get("default") or ()
    parts = {
        kind: None if key in defaults else entry[key]
        for key, kind in (("client_id", "client-id"), ("ip", "ip"), ("user", "user"))
        if key in defaults or entry.get(key) is not None
    }
    return tuple(sorted(parts.items()))


SPEC: Final = AccessSpec(QUOTAS, QuotaSettings, _entries)
