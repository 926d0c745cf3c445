"""The quota that brokers enforce for a client: the first level that has one (KIP-55, KIP-546, KIP-612).

Source: ``ClientQuotaManager.DefaultQuotaCallback``, and for addresses ``ConnectionQuotas``. Each key, such as
``producer_byte_rate``, has levels of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from topicwarden.model.units import setting_text

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]
"""The clients that a quota limits: pairs of a type (``client-id``, ``ip``, ``user``) and a name, sorted by type.

None as the name is the default of the type: it applies to clients that no quota names (KIP-546, KIP-612).
"""
Quotas: TypeAlias = Mapping[QuotaEntity, Mapping[str, float]]

_USER, _CLIENT, _IP = "user", "client-id", "ip"
_MOST_PAIRS: Final = 10_000


def quota_clients(entity: QuotaEntity) -> str:
    """Return the clients of a quota in the words of ``kafka-configs``: ``user billing, default client-id``."""
    return ", ".join(f"default {kind}" if name is None else f"{kind} {name}" for kind, name in reversed(entity))


@dataclass(frozen=True)
class QuotaClient:
    """A client of the brokers, or all clients that no quota names: then a part is None."""

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    @property
    def levels(self) -> Iterator[QuotaEntity]:
        """The entities whose quota may apply to requests of the client, the first one first."""
        users: list[dict[str, str | None]] = [{_USER: self.user}] if self.user is not None else []
        users.append({_USER: None})
        for user in users:
            if self.client_id is not None:
                yield _entity({**user, _CLIENT: self.client_id})
            yield _entity({**user, _CLIENT: None})
            yield _entity(user)
        if self.client_id is not None:
            yield _entity({_CLIENT: self.client_id})
        yield _entity({_CLIENT: None})

    @property
    def ip_levels(self) -> Iterator[QuotaEntity]:
        """The entities whose quota may apply to connections of the client, the first one first."""
        if self.ip is not None:
            yield _entity({_IP: self.ip})
        yield _entity({_IP: None})


@dataclass(frozen=True)
class EnforcedQuota:
    """The limit of a client, and the entity whose quota it is; both None if the client has no limit."""

    limit: float | None = None
    entity: QuotaEntity | None = None

    def text(self, key: str, entity: QuotaEntity) -> str:
        """Return the limit ``key`` for a message about ``entity``, with its level if that is another one."""
        if self.limit is None or self.entity is None:
            return "no limit"
        level = "" if self.entity == entity else f" (of {quota_clients(self.entity)})"
        return f"{setting_text(key, self.limit)}{level}"


@dataclass(frozen=True)
class EnforcedChange:
    """A change of the limit that brokers enforce for clients of an entity."""

    before: EnforcedQuota
    after: EnforcedQuota

    @property
    def lower(self) -> bool:
        """True if brokers delay clients that they did not delay before."""
        return self.after.limit is not None and (self.before.limit is None or self.after.limit < self.before.limit)


def enforced_limit(quotas: Quotas, entity: QuotaEntity, key: str) -> EnforcedQuota:
    """Return what brokers enforce for clients of ``entity`` that no other quota names, from its own level on."""
    names = dict(entity)
    client = QuotaClient(names.get(_USER), names.get(_CLIENT), names.get(_IP))
    levels = list(client.ip_levels if _IP in names else client.levels)
    for level in levels[levels.index(entity) :]:
        limit = quotas.get(level, {}).get(key)
        if limit is not None:
            return EnforcedQuota(limit, level)
    return EnforcedQuota()


def enforced(quotas: Quotas, client: QuotaClient, key: str, *, ip: bool = False) -> EnforcedQuota:
    """Return the quota ``key`` that brokers enforce for ``client``."""
    for entity in client.ip_levels if ip else client.levels:
        limit = quotas.get(entity, {}).get(key)
        if limit is not None:
            return EnforcedQuota(limit, entity)
    return EnforcedQuota()


def lowered(
    before: Quotas, after: Quotas, entities: Iterable[QuotaEntity]
) -> Iterator[tuple[QuotaEntity, str, EnforcedChange]]:
    """Yield each of ``entities`` and keys by whose change clients get a lower limit, sorted.

    The change is that of those of its clients that lose most: a client that other quotas name may have another level
    than the others of the entity.
    """
    parts = [part for quotas in (before, after) for entity in quotas for part in entity]
    named = {kind: sorted({name for other, name in parts if other == kind and name}) for kind in (_USER, _CLIENT)}
    for entity in sorted(entities, key=str):
        ip, clients = any(kind == _IP for kind, _ in entity), list(_clients(entity, named))
        old, new = before.get(entity, {}), after.get(entity, {})
        for key in sorted(key for key in {*old, *new} if old.get(key) != new.get(key)):
            changes = (
                EnforcedChange(enforced(before, client, key, ip=ip), enforced(after, client, key, ip=ip))
                for client in clients
            )
            lower = [each for each in changes if each.lower and entity in (each.before.entity, each.after.entity)]
            if lower:
                yield entity, key, min(lower, key=lambda each: (each.after.limit or 0) / (each.before.limit or inf))


def _clients(entity: QuotaEntity, named: Mapping[str, Sequence[str]]) -> Iterator[QuotaClient]:
    """Yield the clients of ``entity``: the one that it names, or the unnamed ones first, and those named elsewhere."""
    names = dict(entity)
    if _IP in names:
        yield QuotaClient(ip=names[_IP])
        return
    user, client_id = names.get(_USER), names.get(_CLIENT)
    yield QuotaClient(user, client_id)
    if user is None:
        yield from (QuotaClient(each, client_id) for each in named[_USER][:_MOST_PAIRS])
    if client_id is None:
        yield from (QuotaClient(user, each) for each in named[_CLIENT][:_MOST_PAIRS])


def _entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    return tuple(sorted(parts.items()))
