"""Decide whether declared access explains a use of a topic, and which principals may be behind a use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from topicwarden.kafka_facts.access.authorizer import Authorizer, PatternAcls
from topicwarden.kafka_facts.access.operations import ALLOWED_BY
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    AuthorizerSettings,
    Operation,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.usage import NAMED_BY, OPERATIONS, Use, UserKind

_ACLS_ALONE: Final = AuthorizerSettings(class_name="topicwarden", super_users=frozenset(), open_without_acl=False)
"""ACLs decide alone: super users are not declared, and a resource without ACLs is closed."""

_Patterns: TypeAlias = tuple[PatternAcls, ...]


@dataclass(frozen=True)
class _Principals:
    """The principals that ACLs on a resource name, and those of them that may do an operation on it."""

    named: frozenset[str]
    allowed: frozenset[str]

    def allow(self, principal: str) -> bool:
        return (principal if principal in self.named else ANY_PRINCIPAL) in self.allowed


class AclUse:
    """The principals that a set of ACLs allows to use topics. An answer takes microseconds for any number of ACLs.

    ``settings`` are those of the authorizer; by default, ACLs decide alone.
    """

    def __init__(self, acls: Iterable[Acl], settings: AuthorizerSettings = _ACLS_ALONE) -> None:
        self._authorizer = Authorizer(acls, settings)
        self._principals: dict[tuple[_Patterns, Operation], _Principals] = {}
        self._patterns: dict[tuple[PatternAcls, Operation], _Principals | None] = {}
        self._digests: dict[PatternAcls, bytes] = {}
        self._digests_of_names: dict[str, bytes] = {}

    def candidates(self, use: Use, topic: str) -> frozenset[str]:
        """Return the principals that ACLs allow ``use`` of ``topic``, with ``User:*`` if everyone is allowed.

        A group needs Read on the topic and on the group, a transactional id Write on the topic and on the id. Nothing
        is known of the principal of a producer id: it may be anyone that may write to the topic. A principal counts if
        it is allowed from any address. Super users are not returned.
        """
        operation = OPERATIONS[use.action]
        allowed = self._allowed(Resource(ResourceType.TOPIC, topic), operation)
        if use.kind is UserKind.PRINCIPAL:
            return frozenset({use.name}) if allowed.allow(use.name) else frozenset()
        if use.kind not in NAMED_BY:
            return allowed.allowed
        names = self._allowed(Resource(NAMED_BY[use.kind], use.name), operation)
        named = allowed.named | names.named | {ANY_PRINCIPAL}
        return frozenset(each for each in named if allowed.allow(each) and names.allow(each))

    def _allowed(self, resource: Resource, operation: Operation) -> _Principals:
        patterns = self._authorizer.patterns(resource)
        found = self._principals.get((patterns, operation))
        if found is None:
            found = self._principals[patterns, operation] = self._decide(patterns, operation)
        return found

    def _decide(self, patterns: _Patterns, operation: Operation) -> _Principals:
        parts = [self._of_pattern(pattern, operation) for pattern in patterns]
        if not parts or None in parts or self._authorizer.settings.class_name == "":
            return self._decide_each(patterns, operation)
        named = frozenset[str]().union(*(part.named for part in parts if part))
        allowed = frozenset[str]().union(*(part.allowed for part in parts if part))
        return _Principals(named, (named if ANY_PRINCIPAL in allowed else allowed) - self._authorizer.super_users)

    def _of_pattern(self, pattern: PatternAcls, operation: Operation) -> _Principals | None:
        """Return what the ACLs of one pattern allow; None if one of them denies, so that others matter."""
        if (pattern, operation) not in self._patterns:
            acls = list(pattern)
            self._patterns[pattern, operation] = (
                None
                if any(acl.permission is PermissionType.DENY for acl in acls)
                else _Principals(
                    frozenset(acl.principal for acl in acls),
                    frozenset(acl.principal for acl in acls if acl.operation in ALLOWED_BY[operation]),
                )
            )
        return self._patterns[pattern, operation]

    def _decide_each(self, patterns: _Patterns, operation: Operation) -> _Principals:
        hosts: dict[str, set[str]] = {ANY_PRINCIPAL: {WILDCARD}}
        for pattern in patterns:
            for acl in pattern:
                hosts.setdefault(acl.principal, {WILDCARD}).add(acl.host)
        allowed = frozenset(
            principal
            for principal, named in hosts.items()
            if principal not in self._authorizer.super_users
            and any(
                self._authorizer.decide_by(patterns, principal, operation, host).allowed
                for host in named | hosts[ANY_PRINCIPAL]
            )
        )
        return _Principals(frozenset(hosts), allowed)

    def digest(self, topic: str) -> str:
        """Return a digest of the ACLs on which ``candidates`` of uses of ``topic`` depend.

        These are the ACLs on the topic, and those on groups and transactional ids of the principals that they name.
        """
        patterns = self._authorizer.patterns(Resource(ResourceType.TOPIC, topic))
        everyone = self._digest_of_names(ANY_PRINCIPAL)
        return _digest([everyone, *(self._digest_of_pattern(pattern) for pattern in patterns)]).hex()[:16]

    def _digest_of_pattern(self, pattern: PatternAcls) -> bytes:
        if pattern not in self._digests:
            acls = sorted(str(acl).encode() for acl in pattern)
            names = [self._digest_of_names(principal) for principal in sorted({acl.principal for acl in pattern})]
            self._digests[pattern] = _digest([*acls, *names])
        return self._digests[pattern]

    def _digest_of_names(self, principal: str) -> bytes:
        if principal not in self._digests_of_names:
            acls = {acl for kind in NAMED_BY.values() for acl in self._authorizer.acls_for(principal, kind)}
            self._digests_of_names[principal] = _digest(sorted(str(acl).encode() for acl in acls))
        return self._digests_of_names[principal]


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(4, "big") + part)
    return digest.digest()
