"""Quotas as YAML, in the scope of a stack, and on hosted services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kinds.access_converter import AccessConverter, Limit, YamlEntry
from topicwarden.kinds.quota.change import PART, QUOTAS, quota_title
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.access import DeclaredAccess, Operation, ResourceType
from topicwarden.model.units import yaml_number

if TYPE_CHECKING:
    from topicwarden.specs.stacks.stack_scope import StackScope


def _yaml(quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[YamlEntry]:
    for entity, rates in quotas.items():
        parts = [(kind.replace("-", "_"), name) for kind, name in entity]
        defaults = [part for part, name in parts if name is None]
        entry = {
            **{part: name for part, name in parts if name is not None},
            **({"default": defaults} if defaults else {}),
            **{
                key: yaml_number(key, int(value)) if value.is_integer() else value
                for key, value in sorted(rates.items())
            },
        }
        yield YamlEntry("quotas", entry)


def _outside(entity: QuotaEntity, scope: StackScope) -> str:
    """Return why a quota is out of scope: if the scope names principals, only quotas of their users are in scope."""
    user = dict(entity).get("user")
    owned = not scope.principals or (user is not None and scope.owns_principal(f"User:{user}"))
    return "" if owned else f"principals: {', '.join(scope.principals)}"


def _limits(access: DeclaredAccess, brokers: BrokerSettings, _: int | None) -> Iterator[Limit]:
    service = PROFILES[brokers.profile]
    if (known := service.access.known_keys.get(QUOTAS)) is None:
        return
    for entity, rates in access.part(QUOTAS).items():
        if unknown := rates.keys() - known[0]:
            message = f"{service.title} has no quota {', '.join(sorted(unknown))} ({known[1]}); remove it"
            yield Limit(access.sources(QUOTAS, entity)[0], message)


CONVERTER: Final = AccessConverter(
    QUOTAS,
    PART.plural,
    (Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
    (Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
    "quota-drift",
    _yaml,
    quota_title,
    _outside,
    _limits,
)
