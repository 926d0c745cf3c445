"""Compares declared, deployed and live access, and determines what a deploy would do with each part of it.

Only what Pulumi's state has is ever removed: after a deploy, the cluster has (live - (deployed - declared)) + created.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

from topicwarden.kinds import modules
from topicwarden.kinds.difference import AccessComparison, AccessPart, Actions
from topicwarden.model.access import (
    ACLS,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    Part,
    UndeclaredResource,
)
from topicwarden.model.planned_change import AccessItem, AccessKind, Action

ACCESS_PARTS: Final[tuple[AccessPart[Any, Any], ...]] = tuple(each.PART for each in modules("change"))


@dataclass(frozen=True)
class AccessChange(AccessComparison):
    """The difference between declared, deployed and live access, and its effect on the ACLs of the cluster."""

    @cached_property
    def before(self) -> frozenset[Acl]:
        """The ACLs on the cluster; empty if the brokers do not report them."""
        return self.live.acls or frozenset()

    @cached_property
    def after(self) -> frozenset[Acl]:
        """The ACLs on the cluster after the deploy, which does not create again what was deleted by hand."""
        created = {acl for acl, action in self.of(ACLS).items() if action is Action.CREATE}
        return self.before - (self.deployed.acls - self.declared.acls.keys()) | created

    @cached_property
    def acls_after(self) -> Counter[str]:
        """The number of ACLs after the deploy, by principal."""
        return Counter(acl.principal for acl in self.after)

    @cached_property
    def changed_acls(self) -> frozenset[Acl]:
        """The ACLs that are on the cluster either before or after the deploy."""
        return self.before ^ self.after

    @cached_property
    def undeclared(self) -> tuple[UndeclaredResource, ...]:
        """The resources in Pulumi's state that the engine would remove or replace, but that no deploy has declared.

        A resource of access that the program registers under another URN only leaves the state.
        """
        return tuple(each for each in self.deployed.undeclared if self.destroying or self._acted_on(each))

    def _acted_on(self, resource: UndeclaredResource) -> bool:
        if resource.tainted or resource.key not in self.declared.homes:
            return True
        if not resource.registered:
            return False
        names = (_names(self.deployed.part(part.name).get(resource.key)) for part in ACCESS_PARTS)
        kept = (_names(self.declared.part(part.name).get(resource.key)) for part in ACCESS_PARTS)
        return bool({*chain(*names)} - {*chain(*kept)})

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
    def rows(self) -> dict[str, list[AccessItem]]:
        """The changes of each part, sorted by name."""
        return {part.name: part.items(self) for part in ACCESS_PARTS}

    @property
    def items(self) -> list[AccessItem]:
        """All changes, sorted by kind and name."""
        return [item for rows in self.rows.values() for item in rows]

    def unchanged(self) -> int:
        """Return the number of declared entries that are as declared."""
        return sum(len(self.declared.part(part.name).keys() - self.of(part.name).keys()) for part in ACCESS_PARTS)

    def foreign(self) -> dict[AccessKind, int]:
        """Return the number of live entries that are neither declared nor in Pulumi's state, by kind, without zeros."""
        numbers = {part.kind: len(self._foreign(part.name)) for part in ACCESS_PARTS}
        return {kind: number for kind, number in numbers.items() if number}

    def _foreign(self, part: Part[Any, Any]) -> set[object]:
        return {*(self.live.part(part) or ())} - self.declared.part(part).keys() - self.deployed.part(part).keys()


def access_change(
    declared: DeclaredAccess, deployed: DeployedAccess, live: LiveAccess, *, destroying: bool = False
) -> AccessChange:
    """Return what a deploy changes. A part that the brokers do not report is compared with Pulumi's state alone."""
    actions: dict[str, Actions] = {part.name: part.actions(declared, deployed, live) for part in ACCESS_PARTS}
    return AccessChange(declared, deployed, live, destroying, actions)


def _names(value: object) -> Iterable[str]:
    """Return the names of the rates, or of the settings, of an entry."""
    return value if isinstance(value, Mapping) else ()
