"""Quotas as entries of access: by the clients that they limit, with rates by Kafka's keys."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from topicwarden.kinds.difference import AccessComparison, AccessPart, has_values, row
from topicwarden.kinds.quota.levels import QuotaEntity, Quotas, enforced_limit, quota_clients
from topicwarden.model.access import Part
from topicwarden.model.change_terms import AccessKind, Action

if TYPE_CHECKING:
    from topicwarden.model.planned_change import AccessItem

QUOTAS: Final[Part[QuotaEntity, Mapping[str, float]]] = Part("quotas")


def quota_title(entity: QuotaEntity) -> str:
    """Return ``entity`` in words, such as ``quota of user billing, default client-id``."""
    return f"quota of {quota_clients(entity)}"


def quotas_before_and_after(difference: AccessComparison) -> tuple[Quotas, dict[QuotaEntity, Mapping[str, float]]]:
    """Return the quotas on the cluster before and after the deploy, which removes only values that the state has.

    If the brokers do not report them, those of the last deploy count as the present ones.
    """
    declared, deployed = difference.declared.part(QUOTAS), difference.deployed.part(QUOTAS)
    live = difference.live.part(QUOTAS)
    before = deployed if live is None else live
    after = dict(before)
    for entity, action in difference.of(QUOTAS).items():
        if action in (Action.CREATE, Action.UPDATE, Action.DELETE):
            own = deployed.get(entity, {})
            kept = {key: value for key, value in after.get(entity, {}).items() if key not in own}
            after[entity] = {**kept, **declared.get(entity, {})}
    return before, after


def _rows(difference: AccessComparison) -> Iterator[AccessItem]:
    before, later = difference.once(quotas_before_and_after)
    for entity, action in difference.of(QUOTAS).items():
        after, location = difference.declared.part(QUOTAS).get(entity, {}), difference.declared.location(QUOTAS, entity)
        own = sorted({*after, *difference.deployed.part(QUOTAS).get(entity, {})})
        texts = _text(before, entity, own), _text(ChainMap({entity: after}, later), entity, own)
        yield row(AccessKind.QUOTA, action, quota_clients(entity), location, texts)


def _text(quotas: Quotas, entity: QuotaEntity, keys: Iterable[str]) -> str:
    """Return what brokers enforce for an entity, such as ``producer_byte_rate 1MiB (of default user)``."""
    limits = ((key, enforced_limit(quotas, entity, key)) for key in keys)
    return ", ".join(f"{key} {limit.text(key, entity)}" for key, limit in limits if limit.limit is not None)


PART = AccessPart(AccessKind.QUOTA, QUOTAS, "quotas", quota_title, has_values, _rows)
