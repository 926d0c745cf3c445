"""Computes who gains and who loses which operations by a change of ACLs, and decides single operations.

If a setting of the authorizer is hidden, each value that it may have is judged. A loss with one of them is a loss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from topicwarden.kafka_facts.access.authorizer import Authorizer, Decision
from topicwarden.kafka_facts.access.who_may import AccessDifference, AffectedResource, effect_of_change
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.plan.access_change import AccessChange

EVERYONE_ELSE: Final = ANY_PRINCIPAL
"""The principal for everyone whom no ACL on the resource names."""


@dataclass(frozen=True)
class PrincipalEffect:
    """One operation on a resource that a principal gains or loses.

    ``hosts`` are the addresses from which it does; None for all that no ACL names, and perhaps more. ``acls`` are the
    changed ACLs by which it comes about. ``pattern`` is the name as an ACL has it, such as ``orders.*``, if the
    resource is an example of the names with a prefix.
    """

    principal: str
    operation: Operation
    resource: Resource
    gained: bool
    hosts: tuple[str, ...] | None = None
    acls: frozenset[Acl] = frozenset()
    pattern: str = ""

    @property
    def text(self) -> str:
        """``Read on Topic orders``, with the hosts if it is not about all of them."""
        resource = f"{self.resource.type} {self.pattern}" if self.pattern else resource_text(self.resource)
        return f"{self.operation} on {resource}" + (f" from {', '.join(self.hosts)}" if self.hosts else "")


@dataclass(frozen=True)
class DecisionChange:
    """The decisions about one operation before and after a change."""

    before: Decision
    after: Decision

    @property
    def lost(self) -> bool:
        """True if it was allowed, and is not any more."""
        return self.before.allowed and not self.after.allowed


def resource_text(resource: Resource) -> str:
    """Return ``Topic orders``; ``Cluster`` has no name."""
    return resource.type.value if resource.type is ResourceType.CLUSTER else str(resource)


def principal_name(principal: str) -> str:
    """Return the principal for a message: ``everyone else`` for all that no ACL names."""
    return "everyone else" if principal == EVERYONE_ELSE else principal


class Decisions:
    """The decisions of the authorizer before and after a change.

    ``pairs`` has an authorizer before and one after, for each of the settings that it may have. ``names`` are the
    resources that decisions are asked for: ACLs on other names are left out, because a cluster may have many.
    """

    def __init__(self, change: AccessChange, names: Collection[str]) -> None:
        self._open: Final = change.may_be_open
        about = _about(change.before | change.changed_acls, names, change)
        before, after = about & change.before, about & change.after
        self.pairs: Final = tuple(
            (Authorizer(before, settings), Authorizer(after, settings)) for settings in change.settings
        )
        self.changed: Final = change.changed_acls
        self._changed: Final = Authorizer(change.changed_acls, change.settings[0])

    @property
    def super_users(self) -> frozenset[str]:
        """The principals that may do everything."""
        return self.pairs[0][0].super_users

    def named(self, resource: Resource) -> frozenset[str]:
        """Return the principals that ACLs on ``resource`` name, before or after."""
        return frozenset(acl.principal for acl in self._acls_on(resource)) - {ANY_PRINCIPAL}

    def hosts(self, resource: Resource) -> tuple[str, ...]:
        """Return the addresses that ACLs on ``resource`` name, and ``*`` for all others."""
        named = {acl.host.partition("/")[0] for acl in self._acls_on(resource)} - {WILDCARD}
        return (*sorted(named), WILDCARD)

    def _acls_on(self, resource: Resource) -> Iterable[Acl]:
        return (acl for side in self.pairs[0] for pattern in side.patterns(resource) for acl in pattern)

    def changed_on(self, resource: Resource) -> list[Acl]:
        """Return the changed ACLs about ``resource``."""
        return [acl for pattern in self._changed.patterns(resource) for acl in pattern]

    def outcomes(self, principal: str, operation: Operation, resource: Resource, host: str) -> list[DecisionChange]:
        """Return the decisions with each of the settings that the authorizer may have."""
        return [
            DecisionChange(
                before.decide(principal, operation, resource, host), after.decide(principal, operation, resource, host)
            )
            for before, after in self.pairs
        ]

    def has_acl_after(self, resource: Resource) -> bool:
        """Return whether any ACL is about ``resource`` after the change."""
        return bool(self.pairs[0][1].patterns(resource))

    def first_acl(self, resource: Resource) -> bool:
        """Return whether ``resource`` gets its first ACL, which ends that it is open to everyone."""
        return self._open and not self.pairs[0][0].patterns(resource) and self.has_acl_after(resource)


def access_effects(
    decisions: Decisions, known: Mapping[ResourceType, Collection[str]], hosts: Collection[str] = ()
) -> tuple[PrincipalEffect, ...]:
    """Return what each principal gains and loses, sorted.

    ``known`` are the names of existing resources by type, and ``hosts`` the addresses of clients. A name with the same
    effect as a prefix of it is left out.
    """
    resources = [Resource(kind, name) for kind, names in known.items() for name in names]
    effects: dict[tuple[AffectedResource, _What], PrincipalEffect] = {}
    named = {EVERYONE_ELSE, *(acl.principal for acl in decisions.changed)}
    for before, after in decisions.pairs:
        effect = effect_of_change(before, after, resources, hosts)
        for difference in (*effect.lost, *effect.gained):
            if difference.operation is Operation.IDEMPOTENT_WRITE and difference.principal not in named:
                continue  # it depends on ACLs that were left out
            for affected in difference.resources:
                found = _effect(decisions, difference, affected)
                effects.setdefault((affected, _what(found)), found)
    patterns: dict[_What, list[AffectedResource]] = defaultdict(list)
    for affected, what in effects:
        if not affected.is_one:
            patterns[what].append(affected)
    return tuple(
        effect
        for (affected, what), effect in sorted(effects.items(), key=lambda each: _order(each[1]))
        if not any(_covers(pattern, affected) for pattern in patterns.get(what, ()))
    )


def _effect(decisions: Decisions, difference: AccessDifference, affected: AffectedResource) -> PrincipalEffect:
    deciding = {acl for acl in (difference.before.acl, difference.after.acl) if acl is not None}
    responsible = deciding & decisions.changed or decisions.changed_on(affected.example)
    return PrincipalEffect(
        difference.principal,
        difference.operation,
        affected.example,
        gained=not difference.lost,
        hosts=None if WILDCARD in difference.hosts else difference.hosts,
        acls=frozenset(responsible),
        pattern="" if affected.is_one else _pattern(affected),
    )


def _pattern(affected: AffectedResource) -> str:
    return f"{affected.name}*" if affected.pattern_type is PatternType.PREFIXED else WILDCARD


def _covers(pattern: AffectedResource, affected: AffectedResource) -> bool:
    """Return whether ``pattern`` is about more than ``affected``, and about all of it."""
    if pattern == affected or pattern.type is not affected.type:
        return False
    if pattern.pattern_type is PatternType.LITERAL:
        return True  # the name "*"
    return affected.name.startswith(pattern.name) and affected.name != WILDCARD


_What: TypeAlias = tuple[str, Operation, bool, tuple[str, ...] | None]


def _what(effect: PrincipalEffect) -> _What:
    return effect.principal, effect.operation, effect.gained, effect.hosts


def _order(effect: PrincipalEffect) -> tuple[object, ...]:
    everyone = effect.principal == EVERYONE_ELSE
    return everyone, effect.principal, effect.resource, list(Operation).index(effect.operation), effect.gained


def changed_resources(change: AccessChange, known: Mapping[ResourceType, Collection[str]]) -> set[Resource]:
    """Return the resources that changed ACLs are about: literal names, and those ``known`` that a pattern matches."""
    resources = {Resource(acl.resource_type, acl.resource_name) for acl in change.changed_acls if not acl.is_pattern}
    prefixes: dict[ResourceType, set[str]] = defaultdict(set)
    for acl in change.changed_acls:
        if acl.is_pattern:
            prefixes[acl.resource_type].add(acl.resource_name if acl.pattern_type is PatternType.PREFIXED else "")
    for kind, each in prefixes.items():
        resources |= {Resource(kind, name) for name in known.get(kind, ()) if name.startswith(tuple(each))}
    return resources


def _about(acls: Iterable[Acl], names: Collection[str], change: AccessChange) -> frozenset[Acl]:
    """Return the ACLs that may be about one of ``names``, and all of a principal whose ACLs change.

    Write on any topic lets a principal produce with idempotence (KIP-679), so ACLs on other topics count for it. A
    changed ACL with a prefix is also about names that only ACLs have, such as those of transactional ids that no broker
    remembers.
    """
    principals = {ANY_PRINCIPAL, *(acl.principal for acl in change.changed_acls)}
    prefixes: dict[ResourceType, tuple[str, ...]] = {}
    for acl in change.changed_acls:
        if acl.is_pattern:
            prefix = acl.resource_name if acl.pattern_type is PatternType.PREFIXED else ""
            prefixes[acl.resource_type] = (*prefixes.get(acl.resource_type, ()), prefix)
    every_prefix = tuple({prefix for each in prefixes.values() for prefix in each})
    return frozenset(
        acl
        for acl in acls
        if acl.resource_name in names
        or acl.principal in principals
        or acl.is_pattern
        or (
            acl.resource_name.startswith(every_prefix)
            and acl.resource_name.startswith(prefixes.get(acl.resource_type, ()))
        )
    )


def may_take_away(acl: Acl, change: AccessChange) -> bool:
    """Return whether the change of ``acl`` may take access away from anybody."""
    if acl.permission is PermissionType.DENY:
        return acl in change.after
    return acl in change.before or change.may_be_open
