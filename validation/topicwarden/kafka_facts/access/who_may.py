"""The effect of changed ACLs: who gains and who loses which operation, and which resources open or close.

The number of decisions depends on the ACLs that differ, not on all ACLs: resources with the same matching patterns are
decided once, and only for principals that a changed ACL is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from topicwarden.kafka_facts.access.authorizer import PROBE_NAME, Authorizer, Decision, PatternAcls
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS, covers
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    CLUSTER,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Resource,
    ResourceType,
)

_NO_ACL_NAMES: Final = "\0"
"""The end of a name that no ACL has. Such a name is an example of all other names with the same beginning."""


@dataclass(frozen=True, order=True)
class AffectedResource:
    """A resource, or the resources that no ACL names more exactly.

    ``Prefixed``: every other name that begins with ``name``. The literal name ``*``: every other name.
    """

    type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    @property
    def is_one(self) -> bool:
        """True if this is a single resource."""
        return self.pattern_type is PatternType.LITERAL and self.name != WILDCARD

    @property
    def example(self) -> Resource:
        """The resource, or an example of the resources."""
        if self.is_one:
            return Resource(self.type, self.name)
        return Resource(self.type, (self.name if self._prefixed else "") + _NO_ACL_NAMES)

    @property
    def _prefixed(self) -> bool:
        return self.pattern_type is PatternType.PREFIXED

    def __str__(self) -> str:
        """``Topic orders``, ``Topic orders.*`` for a prefix, ``Topic *`` for every other topic."""
        if self.type is ResourceType.CLUSTER:
            return "Cluster"
        return f"{self.type} {self.name}{WILDCARD if self._prefixed else ''}"


@dataclass(frozen=True)
class AccessDifference:
    """An operation that a principal gains or loses on some resources.

    ``principal`` is ``User:*`` for everyone except ``others``: super users, and principals that ACLs on these resources
    name, which have differences of their own. ``hosts`` are the addresses for which this is so; ``*`` is every address
    that no ACL names. ``before`` and ``after`` are the decisions for the first of ``hosts``.
    """

    principal: str
    operation: Operation
    resources: tuple[AffectedResource, ...]
    hosts: tuple[str, ...]
    before: Decision
    after: Decision
    others: frozenset[str] = frozenset()

    def concerns(self, principal: str) -> bool:
        """Return whether ``principal`` gains or loses the operation."""
        return principal == self.principal or (self.principal == ANY_PRINCIPAL and principal not in self.others)

    @property
    def lost(self) -> bool:
        """True if the principal loses the operation, False if it gains the operation."""
        return self.before.allowed

    def __str__(self) -> str:
        """``User:billing loses Read on Topic orders``; addresses are named only if they differ."""
        who = "everyone else" if self.principal == ANY_PRINCIPAL else self.principal
        where = ", ".join(map(str, self.resources))
        hosts = "" if self.hosts == (WILDCARD,) else f" from {', '.join(self.hosts)}"
        return f"{who} {'loses' if self.lost else 'gains'} {self.operation} on {where}{hosts}"


@dataclass(frozen=True)
class EffectOfChange:
    """The effect of changed ACLs: who loses and who gains what."""

    lost: tuple[AccessDifference, ...] = ()
    gained: tuple[AccessDifference, ...] = ()


def effect_of_change(
    before: Authorizer,
    after: Authorizer,
    resources: Iterable[Resource] = (),
    hosts: Collection[str] = (),
) -> EffectOfChange:
    """Return who gains and who loses what between two sets of ACLs of a cluster with the same settings.

    Principals, names and addresses in ACLs are found without being passed. Pass the live ``resources`` of the cluster,
    and the addresses (``hosts``) of its clients.

    IdempotentWrite on the cluster counts as lost only if no Write on any topic replaces it (KIP-679).
    """
    if before.settings != after.settings:
        raise ValueError("the settings of the authorizer differ")
    comparison = _Comparison(before, after, hosts)
    classes: dict[_PatternsOfClass, list[AffectedResource]] = defaultdict(list)
    for affected in comparison.affected(resources):
        example = affected.example
        classes[before.patterns(example), after.patterns(example)].append(affected)
    differences = list[AccessDifference]()
    for (patterns_before, patterns_after), members in classes.items():
        ordered = tuple(sorted(members))
        changes_openness = before.open_without_acl and bool(patterns_before) is not bool(patterns_after)
        differences += comparison.differences(ordered, patterns_before, patterns_after, changes_openness)
    differences += comparison.producer_ids()
    differences.sort(key=lambda each: (each.principal == ANY_PRINCIPAL, each.principal, each.resources, each.operation))
    return EffectOfChange(
        tuple(each for each in differences if each.lost),
        tuple(each for each in differences if not each.lost),
    )


_PatternsOfClass: TypeAlias = tuple[tuple[PatternAcls, ...], tuple[PatternAcls, ...]]
"""The ACLs about resources before and after. All decisions about resources with the same ones are equal."""


class _Comparison:
    """Two sets of ACLs, and those that only one of them has."""

    def __init__(self, before: Authorizer, after: Authorizer, hosts: Collection[str]) -> None:
        self.before, self.after, self.hosts = before, after, hosts
        self.changed = Authorizer(before.acls ^ after.acls, before.settings)

    def affected(self, resources: Iterable[Resource]) -> Iterator[AffectedResource]:
        """Yield the resources that a changed ACL matches: of ``resources``, and of those that any ACL names."""
        types = {acl.resource_type for acl in self.changed.acls}
        names = {each for each in resources if each.type in types}
        yield from (AffectedResource(each.type, each.name) for each in names if self.changed.patterns(each))
        patterns = {
            (pattern.type, pattern.name, pattern.pattern_type)
            for side in (self.before, self.after)
            for kind in types
            for pattern in side.patterns_of_type(kind)
        }
        for kind, name, pattern_type in patterns:
            affected = AffectedResource(kind, name, pattern_type)
            example = affected.example
            if example not in names and self.changed.patterns(example):
                yield affected

    def differences(
        self,
        members: tuple[AffectedResource, ...],
        old: tuple[PatternAcls, ...],
        new: tuple[PatternAcls, ...],
        changes_openness: bool,
    ) -> Iterator[AccessDifference]:
        """Yield the differences about resources that have the same ``old`` and the same ``new`` ACLs."""
        resource = members[0].example
        every = {acl for pattern in (*old, *new) for acl in pattern}
        changed = [acl for pattern in self.changed.patterns(resource) for acl in pattern]
        principals = {acl.principal for acl in changed}
        others = frozenset(acl.principal for acl in every)
        if changes_openness or ANY_PRINCIPAL in principals:
            principals |= {ANY_PRINCIPAL, *others}
        hosts = _hosts_by_principal(every)
        for operation in SUPPORTED_OPERATIONS[resource.type]:
            if (resource, operation) == (CLUSTER, Operation.IDEMPOTENT_WRITE):
                continue
            if not changes_openness and not any(covers(acl.operation, acl.permission, operation) for acl in changed):
                continue
            for principal in principals:
                named = hosts[principal] | hosts[ANY_PRINCIPAL]
                yield from self._difference(
                    principal,
                    operation,
                    members,
                    others,
                    (
                        (
                            host,
                            self.before.decide_by(old, principal, operation, host),
                            self.after.decide_by(new, principal, operation, host),
                        )
                        for host in self._hosts(named)
                    ),
                )

    def producer_ids(self) -> Iterator[AccessDifference]:
        """Yield who gains or loses the producer ID that an idempotent producer needs."""
        changed = [acl for acl in self.changed.acls if _is_about_producer_ids(acl)]
        principals = {acl.principal for acl in changed}
        others = frozenset(self.before.principals | self.after.principals)
        opens = self.before.open_without_acl and (
            self.changed.patterns(CLUSTER) or self.changed.patterns(Resource(ResourceType.TOPIC, PROBE_NAME))
        )
        if opens or ANY_PRINCIPAL in principals:
            principals |= {ANY_PRINCIPAL, *others}
        for principal in principals:
            named = {
                acl.host
                for side in (self.before, self.after)
                for kind in (ResourceType.TOPIC, ResourceType.CLUSTER)
                for acl in side.acls_for(principal, kind)
                if _is_about_producer_ids(acl)
            }
            yield from self._difference(
                principal,
                Operation.IDEMPOTENT_WRITE,
                (AffectedResource(CLUSTER.type, CLUSTER.name),),
                others,
                (
                    (
                        host,
                        self.before.decide_producer_id(principal, host),
                        self.after.decide_producer_id(principal, host),
                    )
                    for host in self._hosts(named)
                ),
            )

    def _hosts(self, named: Collection[str]) -> list[str]:
        """Return the addresses to decide about: others than ``*`` only if an ACL names one."""
        if not set(named) - {WILDCARD}:
            return [WILDCARD]
        return [WILDCARD, *sorted({*named, *self.hosts} - {WILDCARD})]

    def _difference(
        self,
        principal: str,
        operation: Operation,
        members: tuple[AffectedResource, ...],
        others: frozenset[str],
        decisions: Iterable[tuple[str, Decision, Decision]],
    ) -> Iterator[AccessDifference]:
        """Yield at most one loss and one gain from the decisions before and after, by address."""
        differing = [(host, old, new) for host, old, new in decisions if old.allowed is not new.allowed]
        if not differing:
            return
        others = (others | self.before.super_users) - {ANY_PRINCIPAL} if principal == ANY_PRINCIPAL else frozenset()
        for lost in (True, False):
            if group := [each for each in differing if each[1].allowed is lost]:
                _, old, new = group[0]
                hosts = tuple(host for host, _, _ in group)
                yield AccessDifference(principal, operation, members, hosts, old, new, others)


def _hosts_by_principal(acls: Iterable[Acl]) -> defaultdict[str, set[str]]:
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for acl in acls:
        if acl.host != WILDCARD:
            hosts[acl.principal].add(acl.host)
    return hosts


def _is_about_producer_ids(acl: Acl) -> bool:
    if acl.resource_type is ResourceType.CLUSTER:
        return acl.operation in (Operation.IDEMPOTENT_WRITE, Operation.ALL)
    return acl.resource_type is ResourceType.TOPIC and acl.operation in (Operation.WRITE, Operation.ALL)
