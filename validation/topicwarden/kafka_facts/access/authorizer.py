"""Kafka's authorizer as a model: whether a principal may do an operation on a resource, and which ACL decides.

Sources: ``StandardAuthorizerData`` (KRaft), ``AclAuthorizer`` (ZooKeeper) and ``Authorizer.authorizeByResourceType``.
Both allow and deny alike, except where this module says otherwise. ``tests.campaigns.authorizer`` compares the model
with real brokers.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import Final

from topicwarden.kafka_facts.access.operations import ALLOWED_BY, SUPPORTED_OPERATIONS
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    CLUSTER,
    WILDCARD,
    Acl,
    AuthorizerSettings,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)

ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
"""The authorizer of clusters with ZooKeeper, up to Kafka 3.9."""

PROBE_NAME: Final = "hardcode"
"""The name of the resource about which ``Authorizer.authorizeByResourceType`` asks first."""

_OPERATION_ORDER: Final = {operation: position for position, operation in enumerate(Operation)}


class Reason(StrEnum):
    """Names what decides whether an operation is allowed."""

    ACL = "an ACL"
    SUPER_USER = "super user"
    NO_AUTHORIZER = "the cluster has no authorizer"
    OPEN = "no ACL for the resource, and allow.everyone.if.no.acl.found is true"
    NO_ACL_ALLOWS = "no ACL allows it"


@dataclass(frozen=True)
class Decision:
    """A decision of the authorizer. ``acl`` is the ACL that decides; None if ``reason`` is another one.

    If several ACLs allow or deny, ``acl`` is the one that ``StandardAuthorizer`` writes to its log: of those that deny
    the first, else of those that allow the last. Its order: the longest name first, wildcards last. For a name that
    begins before "*", such as "#1", it may log another one of them.
    """

    allowed: bool
    acl: Acl | None = None
    reason: Reason = Reason.ACL


class PatternAcls:
    """The ACLs of one resource pattern: a type, and a name or a prefix. Equal only to itself."""

    __slots__ = ("_by_principal", "name", "pattern_type", "type")

    def __init__(self, resource_type: ResourceType, pattern_type: PatternType, name: str) -> None:
        self.type, self.pattern_type, self.name = resource_type, pattern_type, name
        self._by_principal: dict[str, list[Acl]] = {}

    def add(self, acl: Acl) -> None:
        self._by_principal.setdefault(acl.principal, []).append(acl)

    def __iter__(self) -> Iterator[Acl]:
        return chain.from_iterable(self._by_principal.values())

    def about(self, principal: str) -> Sequence[Acl]:
        """Return the ACLs of a principal, and those of any principal, in the order of ``StandardAcl.compareTo``."""
        own = self._by_principal.get(principal, ())
        every = self._by_principal.get(ANY_PRINCIPAL, ()) if principal != ANY_PRINCIPAL else ()
        acls = [*own, *every]
        if len(acls) > 1:
            acls.sort(key=_kafka_order)
        return acls


class _TypeIndex:
    """The resource patterns of one type of resources."""

    def __init__(self) -> None:
        self.literal: dict[str, PatternAcls] = {}
        self.prefixed: dict[str, PatternAcls] = {}
        self.lengths: tuple[int, ...] = ()
        """The lengths of all prefixes, the longest first."""


class Authorizer:
    """The decisions of an authorizer with these ACLs and settings. A decision takes microseconds for any number.

    A setting without a value counts as Kafka's default: no super users, and a resource without ACLs is closed.
    """

    def __init__(self, acls: Iterable[Acl], settings: AuthorizerSettings) -> None:
        self.settings = settings
        self.super_users: Final = settings.super_users or frozenset()
        self.open_without_acl: Final = bool(settings.open_without_acl)
        self.acls: Final = frozenset(acls)
        self._types = {each: _TypeIndex() for each in ResourceType}
        self._by_principal: dict[tuple[ResourceType, str], list[Acl]] = defaultdict(list)
        for acl in self.acls:
            index = self._types[acl.resource_type]
            patterns = index.prefixed if acl.pattern_type is PatternType.PREFIXED else index.literal
            if (pattern := patterns.get(acl.resource_name)) is None:
                pattern = PatternAcls(acl.resource_type, acl.pattern_type, acl.resource_name)
                patterns[acl.resource_name] = pattern
            pattern.add(acl)
            self._by_principal[acl.resource_type, acl.principal].append(acl)
        for index in self._types.values():
            index.lengths = tuple(sorted({len(prefix) for prefix in index.prefixed}, reverse=True))

    def decide(self, principal: str, operation: Operation, resource: Resource, host: str) -> Decision:
        """Return whether ``principal`` may do ``operation`` on ``resource`` from the address ``host``."""
        return self.decide_by(self.patterns(resource), principal, operation, host)

    def decide_by(self, patterns: Sequence[PatternAcls], principal: str, operation: Operation, host: str) -> Decision:
        """Return what ``decide`` returns for a resource with these ``patterns``."""
        if (decision := self._without_acls(principal)) is not None:
            return decision
        if not patterns:
            is_open = self.open_without_acl
            return Decision(is_open, reason=Reason.OPEN if is_open else Reason.NO_ACL_ALLOWS)
        allowing, denying = ALLOWED_BY[operation], (operation, Operation.ALL)
        allows = None
        for pattern in patterns:
            for acl in pattern.about(principal):
                if acl.permission is PermissionType.DENY:
                    if acl.operation in denying and self._matches_host(acl, host):
                        return Decision(False, acl)
                elif acl.operation in allowing and self._matches_host(acl, host):
                    allows = acl
        if allows is not None:
            return Decision(True, allows)
        return Decision(False, reason=Reason.NO_ACL_ALLOWS)

    def operations(self, principal: str, resource: Resource, host: str) -> dict[Operation, Decision]:
        """Return the decision about each operation that the type of ``resource`` supports."""
        supported = SUPPORTED_OPERATIONS[resource.type]
        return {operation: self.decide(principal, operation, resource, host) for operation in supported}

    def patterns(self, resource: Resource) -> tuple[PatternAcls, ...]:
        """Return the ACLs about ``resource`` by their patterns, in the order of ``StandardAuthorizerData``.

        If there are none, ``allow.everyone.if.no.acl.found`` decides. ACLs of any principal, host and operation count.
        The decisions about two resources of a type are equal if they have the same patterns.
        """
        index, name = self._types[resource.type], resource.name
        found = [index.literal.get(name)]
        found += [index.prefixed.get(name[:length]) for length in index.lengths if length <= len(name)]
        # StandardAuthorizerData.checkSection skips the wildcard for a longer name that begins with "*", because it
        # takes the wildcard for a literal name.
        if not name.startswith(WILDCARD) or (name != WILDCARD and self.settings.class_name == ACL_AUTHORIZER):
            found.append(index.literal.get(WILDCARD))
        return tuple(pattern for pattern in found if pattern is not None)

    @property
    def principals(self) -> frozenset[str]:
        """All principals that an ACL names."""
        return frozenset(principal for _, principal in self._by_principal)

    def patterns_of_type(self, resource_type: ResourceType) -> Iterator[PatternAcls]:
        """Yield the ACLs on resources of a type by their patterns."""
        index = self._types[resource_type]
        return chain(index.literal.values(), index.prefixed.values())

    def acls_for(self, principal: str, resource_type: ResourceType) -> Iterator[Acl]:
        """Yield the ACLs on resources of a type that are about ``principal``, also those of any principal."""
        for name in {principal, ANY_PRINCIPAL}:
            yield from self._by_principal.get((resource_type, name), ())

    def decide_producer_id(self, principal: str, host: str) -> Decision:
        """Return whether ``principal`` may have a producer ID, which an idempotent producer needs (KIP-679)."""
        decision = self.decide(principal, Operation.IDEMPOTENT_WRITE, CLUSTER, host)
        return (
            decision if decision.allowed else self.decide_for_any(principal, Operation.WRITE, ResourceType.TOPIC, host)
        )

    def decide_for_any(self, principal: str, operation: Operation, resource_type: ResourceType, host: str) -> Decision:
        """Return whether ``principal`` may do ``operation`` on at least one resource of this type, as brokers decide.

        Implied operations do not count. ACLs need not match an existing resource.
        """
        if (decision := self._without_acls(principal)) is not None:
            return decision
        if self.settings.class_name != ACL_AUTHORIZER:
            decision = self.decide(principal, operation, Resource(resource_type, PROBE_NAME), host)
            if decision.allowed:
                return decision
        acls = [
            acl
            for acl in self.acls_for(principal, resource_type)
            if acl.operation in (operation, Operation.ALL) and self._matches_host(acl, host)
        ]
        denied = {(a.pattern_type, a.resource_name): a for a in acls if a.permission is PermissionType.DENY}
        if (everything := denied.get((PatternType.LITERAL, WILDCARD))) is not None:
            return Decision(False, everything)
        if self.settings.class_name == ACL_AUTHORIZER and self.open_without_acl:
            return Decision(True, reason=Reason.OPEN)
        for acl in sorted(acl for acl in acls if acl.permission is PermissionType.ALLOW):
            if not _is_dominated(acl, denied):
                return Decision(True, acl)
        return Decision(False, reason=Reason.NO_ACL_ALLOWS)

    def _without_acls(self, principal: str) -> Decision | None:
        if self.settings.class_name == "":
            return Decision(True, reason=Reason.NO_AUTHORIZER)
        if principal in self.super_users:
            return Decision(True, reason=Reason.SUPER_USER)
        return None

    def _matches_host(self, acl: Acl, host: str) -> bool:
        if acl.host in (WILDCARD, host):
            return True
        return self.settings.host_ranges and "/" in acl.host and _in_range(host, acl.host)


def _kafka_order(acl: Acl) -> tuple[int, bytes, str, bool]:
    # Java compares texts by their UTF-16 units.
    principal = acl.principal.encode("utf-16-be", "surrogatepass")
    return _OPERATION_ORDER[acl.operation], principal, acl.host, acl.permission is PermissionType.ALLOW


def _is_dominated(allowed: Acl, denied: dict[tuple[PatternType, str], Acl]) -> bool:
    """Return whether every resource that ``allowed`` is about is denied by its own name or by a prefix of it."""
    name = allowed.resource_name
    if allowed.pattern_type is PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if (PatternType.LITERAL, name) in denied:
            return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


@lru_cache(maxsize=65_536)
def _in_range(host: str, cidr: str) -> bool:
    """Return whether an address is in a CIDR range (KIP-1276, ``CidrUtils.isInRange``)."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return False


def logged_rule(decision: Decision) -> str:
    """Return the rule of a decision as ``LoggedUse.rule`` has it, and brokers before 4.2 write it to their log."""
    if decision.acl is not None:
        return logged_acl(decision.acl)
    if decision.reason is Reason.SUPER_USER:
        return "SuperUser"
    return "DefaultAllow" if decision.reason is Reason.OPEN else "DefaultDeny"


def logged_acl(acl: Acl) -> str:
    """Return the rule of an ACL, to compare it with a logged one: an ACL cannot safely be read from such text."""
    return (
        f"MatchingAcl(acl=StandardAcl(resourceType={_constant(acl.resource_type)}, resourceName={acl.resource_name}, "
        f"patternType={acl.pattern_type.upper()}, principal={acl.principal}, host={acl.host}, "
        f"operation={_constant(acl.operation)}, permissionType={acl.permission.upper()}))"
    )


def _constant(name: str) -> str:
    """Return the name of Java's constant: ``TransactionalId`` is ``TRANSACTIONAL_ID``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
