"""Compares declared, deployed and live access, and determines what a deploy would do with each part of it.

Only what Pulumi's state has is ever removed: after a deploy, the cluster has (live - (deployed - declared)) + created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar

from topicwarden.access.quota_levels import Quotas, enforced_limit
from topicwarden.model.access import (
    NO_ACCESS,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    QuotaEntity,
    ScramUser,
    UndeclaredResource,
    quota_clients,
)
from topicwarden.model.planned_change import AccessItem, AccessKind, Action
from topicwarden.model.problem import Location

_Key = TypeVar("_Key")
_Declared = TypeVar("_Declared")
_Live = TypeVar("_Live")

NOT_DEPLOYED: Final = DeployedAccess()
UNREAD: Final = LiveAccess()


@dataclass(frozen=True)
class AccessChange:
    """The difference between declared, deployed and live access.

    ``acls``, ``quotas``, ``users`` and ``group_configs`` have the action of each one that changes. ``destroying`` is
    true if the command deletes the whole stack.
    """

    declared: DeclaredAccess = NO_ACCESS
    deployed: DeployedAccess = NOT_DEPLOYED
    live: LiveAccess = UNREAD
    destroying: bool = False
    acls: Mapping[Acl, Action] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, Action] = field(default_factory=dict)
    users: Mapping[tuple[str, str], Action] = field(default_factory=dict)
    group_configs: Mapping[str, Action] = field(default_factory=dict)

    @cached_property
    def before(self) -> frozenset[Acl]:
        """The ACLs on the cluster; empty if the brokers do not report them."""
        return self.live.acls or frozenset()

    @cached_property
    def after(self) -> frozenset[Acl]:
        """The ACLs on the cluster after the deploy, which does not create again what was deleted by hand."""
        created = {acl for acl, action in self.acls.items() if action is Action.CREATE}
        return self.before - self._removed | created

    @cached_property
    def changed_acls(self) -> frozenset[Acl]:
        """The ACLs that are on the cluster either before or after the deploy."""
        return self.before ^ self.after

    @cached_property
    def undeclared(self) -> tuple[UndeclaredResource, ...]:
        """The resources in Pulumi's state that the engine would remove or write anew, but that no deploy has declared.

        A resource of access that the program registers under another URN only leaves the state.
        """
        return tuple(each for each in self.deployed.undeclared if self.destroying or self._acted_on(each))

    def _acted_on(self, resource: UndeclaredResource) -> bool:
        if resource.tainted or resource.key not in self.declared.homes:
            return True
        if not resource.registered:
            return False
        of_quotas, of_groups = _values(self.declared.quotas), _values(self.declared.group_configs)
        key: Any = resource.key
        entries = {*self.deployed.quotas.get(key, ()), *self.deployed.group_configs.get(key, ())}
        return bool(entries - {*of_quotas.get(key, ()), *of_groups.get(key, ())})

    @property
    def _removed(self) -> frozenset[Acl]:
        return self.deployed.acls - self.declared.acls.keys()

    @cached_property
    def quotas_before(self) -> Quotas:
        """The quotas on the cluster; those of the last deploy if the brokers do not report them."""
        return self.deployed.quotas if self.live.quotas is None else self.live.quotas

    @cached_property
    def quotas_after(self) -> Quotas:
        """The quotas on the cluster after the deploy, which removes only values that Pulumi's state has."""
        after = dict(self.quotas_before)
        for entity, action in self.quotas.items():
            if action in (Action.CREATE, Action.UPDATE, Action.DELETE):
                own = self.deployed.quotas.get(entity, {})
                kept = {key: value for key, value in after.get(entity, {}).items() if key not in own}
                after[entity] = {**kept, **self.declared.quotas.get(entity, ({}, None))[0]}
        return after

    @cached_property
    def settings(self) -> tuple[AuthorizerSettings, ...]:
        """The settings that the authorizer may have, one for each value of ``allow.everyone.if.no.acl.found``.

        There are two if brokers do not show it, or have different ones. A change must be judged with each of them.
        A principal is a super user if it is one on each broker.
        """
        brokers = list((self.live.settings or {}).values()) or [AuthorizerSettings()]
        values = {each.open_without_acl for each in brokers}
        known = AuthorizerSettings(
            max((each.class_name for each in brokers if each.class_name is not None), default=None),
            frozenset.intersection(*(each.super_users or frozenset() for each in brokers)),
            False,
            any(each.host_ranges for each in brokers),
        )
        possible = (False, True) if None in values else sorted(map(bool, values))
        return tuple(replace(known, open_without_acl=value) for value in possible)

    @property
    def may_be_open(self) -> bool:
        """True if a resource without any ACL is, or may be, open to everyone."""
        return any(each.open_without_acl for each in self.settings)

    @property
    def open_without_acl_known(self) -> bool:
        """True if every broker shows ``allow.everyone.if.no.acl.found``, or if a probe has proven it."""
        brokers = (self.live.settings or {}).values()
        return bool(brokers) and all(each.open_without_acl is not None for each in brokers)

    @cached_property
    def items(self) -> list[AccessItem]:
        """All changes, sorted by kind and name."""
        found = [*self._acl_items(), *self._quota_items(), *self._user_items(), *self._group_items()]
        kinds = list(AccessKind)
        return sorted(found, key=lambda item: (kinds.index(item.kind), item.name, item.action))

    def unchanged(self) -> int:
        """Return the number of declared parts that are as declared."""
        parts = (
            (self.declared.acls, self.acls),
            (self.declared.quotas, self.quotas),
            (self.declared.users, self.users),
            (self.declared.group_configs, self.group_configs),
        )
        return sum(len(declared.keys() - actions.keys()) for declared, actions in parts)

    def foreign(self) -> dict[AccessKind, int]:
        """Return the number of live parts that are neither declared nor in Pulumi's state, by kind, without zeros."""
        declared, deployed, live = self.declared, self.deployed, self.live
        numbers = {
            AccessKind.ACL: len(self.before - declared.acls.keys() - deployed.acls),
            AccessKind.QUOTA: len({*(live.quotas or {})} - declared.quotas.keys() - deployed.quotas.keys()),
            AccessKind.USER: len({*(live.users or {})} - declared.users.keys() - deployed.users.keys()),
            AccessKind.GROUP_CONFIG: len(
                {*(live.group_configs or {})} - declared.group_configs.keys() - deployed.group_configs.keys()
            ),
        }
        return {kind: number for kind, number in numbers.items() if number}

    def _acl_items(self) -> Iterator[AccessItem]:
        for acl, action in self.acls.items():
            sources = self.declared.acls.get(acl, ())
            location = sources[0].location if sources else None
            yield AccessItem(kind=AccessKind.ACL, action=action, name=str(acl), location=location)

    def _quota_items(self) -> Iterator[AccessItem]:
        for entity, action in self.quotas.items():
            after, location = self.declared.quotas.get(entity, ({}, None))
            own = sorted({*after, *self.deployed.quotas.get(entity, {})})
            yield AccessItem(
                kind=AccessKind.QUOTA,
                action=action,
                name=quota_clients(entity),
                before=quota_text(self.quotas_before, entity, own) or None,
                after=quota_text({**self.quotas_after, entity: after}, entity, own) or None,
                location=location,
            )

    def _user_items(self) -> Iterator[AccessItem]:
        for key, action in self.users.items():
            after, location = self.declared.users.get(key, (None, None))
            before = (self.live.users or {}).get(key)
            yield AccessItem(
                kind=AccessKind.USER,
                action=action,
                name=f"{key[0]} ({key[1]})",
                before=_user_text(before, self.deployed.users.get(key)),
                after=_user_text(after, after),
                location=location,
            )

    def _group_items(self) -> Iterator[AccessItem]:
        for group, action in self.group_configs.items():
            after, location = self.declared.group_configs.get(group, ({}, None))
            before = (self.live.group_configs or {}).get(group, {})
            own = {*after, *self.deployed.group_configs.get(group, {})}
            yield AccessItem(
                kind=AccessKind.GROUP_CONFIG,
                action=action,
                name=group,
                before=_config_text({key: value for key, value in before.items() if key in own}) or None,
                after=_config_text(after) or None,
                location=location,
            )


def access_change(
    declared: DeclaredAccess, deployed: DeployedAccess, live: LiveAccess, *, destroying: bool = False
) -> AccessChange:
    """Return what a deploy changes. A part that the brokers do not report is compared with Pulumi's state alone."""
    return AccessChange(
        declared,
        deployed,
        live,
        destroying,
        acls=dict(
            _actions(
                dict.fromkeys(declared.acls, True),
                dict.fromkeys(deployed.acls, True),
                None if live.acls is None else dict.fromkeys(live.acls, True),
                lambda declared_one, other: True,
                lambda declared_one, other: True,
            )
        ),
        quotas=dict(
            _actions(_values(declared.quotas), deployed.quotas, live.quotas, lambda one, two: one == two, _has_values)
        ),
        users=dict(
            _actions(_values(declared.users), deployed.users, live.users, lambda one, two: one == two, _same_credential)
        ),
        group_configs=dict(
            _actions(
                _values(declared.group_configs),
                deployed.group_configs,
                None if "group_configs" in live.missing else live.group_configs,
                lambda one, two: one == two,
                _has_values,
            )
        ),
    )


def _actions(
    declared: Mapping[_Key, _Declared],
    deployed: Mapping[_Key, _Declared],
    live: Mapping[_Key, _Live] | None,
    as_deployed: Callable[[_Declared, _Declared], bool],
    as_live: Callable[[_Declared, _Live], bool],
) -> Iterator[tuple[_Key, Action]]:
    """Yield the action of each part that changes. Without ``live``, each part counts as it was deployed."""
    for key, value in declared.items():
        edited = key not in deployed or not as_deployed(value, deployed[key])
        if live is None:
            if edited:
                yield key, Action.UPDATE if key in deployed else Action.CREATE
        elif key not in live:
            yield key, Action.CREATE if edited else Action.DRIFT
        elif key not in deployed:
            yield key, Action.ADOPT if as_live(value, live[key]) else Action.UPDATE
        elif edited:
            yield key, Action.UPDATE
        elif not as_live(value, live[key]):
            yield key, Action.DRIFT
    for key in deployed:
        if key not in declared:
            yield key, Action.DELETE


def _values(located: Mapping[_Key, tuple[_Declared, Location]]) -> dict[_Key, _Declared]:
    return {key: value for key, (value, _) in located.items()}


def _has_values(declared: Mapping[str, object], live: Mapping[str, object]) -> bool:
    """Return whether ``live`` has all declared values. Others were set by somebody else, and stay."""
    return all(live.get(name) == value for name, value in declared.items())


def _same_credential(declared: ScramUser, live: ScramUser) -> bool:
    # Kafka never returns a password, so nothing tells whether it is still the same.
    return declared.iterations == live.iterations


def quota_text(quotas: Quotas, entity: QuotaEntity, keys: Iterable[str]) -> str:
    """Return what brokers enforce for an entity, such as ``producer_byte_rate 1,048,576 (of default user)``."""
    limits = ((key, enforced_limit(quotas, entity, key)) for key in keys)
    return ", ".join(f"{key} {limit.text(entity)}" for key, limit in limits if limit.limit is not None)


def _user_text(user: ScramUser | None, recorded: ScramUser | None) -> str | None:
    """Return the iterations of a user, with the version of the password that Pulumi's state, or the YAML, names."""
    if user is None:
        return None
    password = recorded.password if recorded else None
    version = f", password {password.name} version {password.version}" if password else ""
    return f"{user.iterations:,} iterations{version}"


def _config_text(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
