"""Quotas as entries of access: by the clients that they limit, with rates by Kafka's keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topicwarden.access.quota_levels import Quotas, enforced_limit
from topicwarden.kinds.difference import AccessComparison, AccessPart, has_values, row
from topicwarden.model.access import QuotaEntity, quota_clients
from topicwarden.model.planned_change import AccessItem, AccessKind, Action


def quota_title(entity: QuotaEntity) -> str:
    """Return ``entity`` in words, such as ``quota of user billing, default client-id``."""
    return f"quota of {quota_clients(entity)}"


def quotas_before(difference: AccessComparison) -> Quotas:
    """Return the quotas on the cluster; those of the last deploy if the brokers do not report them."""
    return difference.deployed.quotas if difference.live.quotas is None else difference.live.quotas


def quotas_after(difference: AccessComparison) -> Quotas:
    """Return the quotas on the cluster after the deploy, which removes only values that Pulumi's state has."""
    after = dict(quotas_before(difference))
    for entity, action in difference.of("quotas").items():
        if action in (Action.CREATE, Action.UPDATE, Action.DELETE):
            own = difference.deployed.quotas.get(entity, {})
            kept = {key: value for key, value in after.get(entity, {}).items() if key not in own}
            after[entity] = {**kept, **difference.declared.quotas.get(entity, ({}, None))[0]}
    return after


def _rows(difference: AccessComparison) -> Iterator[AccessItem]:
    before, later = quotas_before(difference), quotas_after(difference)
    for entity, action in difference.of("quotas").items():
        after, location = difference.declared.quotas.get(entity, ({}, None))
        own = sorted({*after, *difference.deployed.quotas.get(entity, {})})
        texts = _text(before, entity, own), _text({**later, entity: after}, entity, own)
        yield row(AccessKind.QUOTA, action, quota_clients(entity), location, texts)


def _text(quotas: Quotas, entity: QuotaEntity, keys: Iterable[str]) -> str:
    """Return what brokers enforce for an entity, such as ``producer_byte_rate 1,048,576 (of default user)``."""
    limits = ((key, enforced_limit(quotas, entity, key)) for key in keys)
    return ", ".join(f"{key} {limit.text(entity)}" for key, limit in limits if limit.limit is not None)


PART = AccessPart(AccessKind.QUOTA, "quotas", "quotas", quota_title, has_values, _rows)
