"""Explain uses of topics by declarations, live ACLs, the policy and authorizer logs.

One object serves all topics, so that ACLs are indexed once.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Final

from topicwarden.kafka_facts.access.authorizer import Authorizer, Decision, Reason, logged_rule
from topicwarden.kafka_facts.access.operations import covers
from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    NO_ACCESS,
    WILDCARD,
    AccessSource,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.usage import (
    ACTIONS,
    NAMED_BY,
    OPERATIONS,
    AuthorizerLogs,
    GroupUse,
    LoggedUse,
    Use,
    UseAction,
    UserKind,
    keeping_offsets,
)
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.declared_use import AclUse

_SUPER_USER: Final = logged_rule(Decision(True, reason=Reason.SUPER_USER))
_BY_ACL: Final = "StandardAcl"
"""A part of the rule that ``StandardAuthorizer`` logs if an ACL, and not a super user, decides."""
_NO_RECORDS: Final = ("DescribeProducers", "DESCRIBE_PRODUCERS")
"""Requests that need Read on a topic, and read no record."""
_BY_ACLS_ALONE: Final = AuthorizerSettings()


class Explanation(Enum):
    """Says why a use of a topic needs no declaration, or that it does."""

    DECLARED = auto()
    """A principal with declared access of the topic may be the user."""
    EXEMPT = auto()
    """The policy exempts the group, or the principal is a super user."""
    OTHER_STACK = auto()
    """The name, or a principal that may be the user, is out of the scope of the stack."""
    UNKNOWN = auto()
    """An ACL or a setting that is not visible may allow the use."""
    NONE = auto()
    """Nothing that is declared explains the use."""


_LEAST_FIRST: Final = (
    Explanation.NONE,
    Explanation.UNKNOWN,
    Explanation.EXEMPT,
    Explanation.OTHER_STACK,
    Explanation.DECLARED,
)


@dataclass(frozen=True)
class UseContext:
    """All that is known besides the observations, for all topics.

    - ``declared``: the access that the stack declares; ``scope``: what the stack owns.
    - ``live``: the access of the cluster; None if it was not read.
    - ``policy``: the periods after which something is idle or unused; None without any.
    - ``logs``: the authorizer logs of brokers; None without any.
    - ``groups``: the groups of the last observation by name, whatever they read.
    - ``observer``: the principal that observes, whose reads are those of audits; None if it is not known.
    """

    declared: DeclaredAccess = NO_ACCESS
    live: LiveAccess | None = None
    scope: StackScope = EVERY_TOPIC
    policy: UsagePolicy | None = None
    logs: AuthorizerLogs | None = None
    groups: Mapping[str, GroupUse] = field(default_factory=dict)
    observer: str | None = None

    def used_by_others(self, topic: str) -> tuple[LoggedUse, ...]:
        """Return the uses of a topic that the authorizer logs show, without reads by the observer."""
        return tuple(
            each
            for each in self.logged.get(_topic(topic), ())
            if each.allowed
            and each.operation in ACTIONS
            and each.request not in _NO_RECORDS
            and not self._is_observation(each)
        )

    def observed_by_reading(self, topic: str) -> bool:
        """Return whether the authorizer logs have reads of a topic by the observer.

        They are those of audits, unless another program uses the same principal. A line has no client id.
        """
        return any(map(self._is_observation, self.logged.get(_topic(topic), ())))

    def _is_observation(self, logged: LoggedUse) -> bool:
        return logged.principal == self.observer and logged.operation is Operation.READ

    def declaring(self, topic: str) -> tuple[Acl, ...]:
        """Return the declared ACLs that allow to read or write this topic, without those on all topics, sorted."""
        return tuple(
            sorted(
                acl
                for acl in _about(self._declared_acls, topic)
                if acl.permission is PermissionType.ALLOW
                and acl.resource_name != WILDCARD
                and acl.operation in (Operation.READ, Operation.WRITE, Operation.ALL)
            )
        )

    def literal(self, topic: str) -> tuple[Acl, ...]:
        """Return the declared ACLs that allow operations on this topic alone, and are on the cluster, sorted.

        All such declared ACLs if the live ones are not visible.
        """
        return tuple(
            sorted(
                acl
                for acl in _about(self._declared_acls, topic)
                if acl.permission is PermissionType.ALLOW
                and (acl.pattern_type, acl.resource_name) == (PatternType.LITERAL, topic)
                and (self._live_acls is None or acl in self._live_acls.acls)
            )
        )

    def undeployed(self, topic: str) -> tuple[Acl, ...]:
        """Return the declared ACLs of the topic that are not on the cluster; empty if its ACLs are not visible."""
        if self._live_acls is None:
            return ()
        return tuple(acl for acl in self.declaring(topic) if acl not in self._live_acls.acls)

    def deployed(self, topic: str) -> str:
        """Return a digest of the live ACLs on which the user of a topic depends, and of the scope of the stack.

        Empty if the ACLs are not known, or if no access is declared. A deploy changes it: a use is judged by the access
        that is declared now only if the same access was declared, and deployed, before and after the use.
        """
        if self.declared.empty or self.live is None or (self.live.acls is None and not self.unsecured):
            return ""
        scope = self.scope
        part = self._live_use.digest(topic) if self._live_use is not None else "no authorizer"
        text = repr((part, scope.principals, scope.groups, scope.transactional_ids))
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]

    def explain(self, topic: str, use: Use) -> Explanation:
        """Return what explains ``use`` of ``topic``; of a principal in authorizer logs, all its lines have to be."""
        if self._declared_use.candidates(use, topic):
            return Explanation.DECLARED
        if use.kind is UserKind.PRINCIPAL:
            found = {self.explain_logged(each) for each in self._lines_of(use, topic)}
            return next((each for each in _LEAST_FIRST if each in found), Explanation.NONE)
        if use.kind is UserKind.GROUP and self.policy is not None and self.policy.exempts_group(use.name):
            return Explanation.EXEMPT
        kind = NAMED_BY.get(use.kind)
        return self._unowned(topic, use, hidden=False) if kind is None else self._explain_named(topic, use, kind)

    def _explain_named(self, topic: str, use: Use, kind: ResourceType) -> Explanation:
        """Return what explains the use by a group or transactional id that declared ACLs alone do not explain."""
        if not self.scope.owns_name(kind, NamePattern(use.name)):
            return Explanation.OTHER_STACK
        users = self._declared_use.candidates(Use(use.action, UserKind.PRODUCER_ID, "", 0), topic)
        named = Resource(kind, use.name)
        if users and self._declares(users, topic, use, named):
            return Explanation.DECLARED
        hidden = self._hidden_for(named)
        if users and hidden:
            return Explanation.UNKNOWN
        return self._unowned(topic, use, hidden=hidden)

    def explain_logged(self, logged: LoggedUse) -> Explanation:
        """Return what explains an allowed operation in the authorizer logs."""
        decision = self._declared_acls.decide(logged.principal, logged.operation, logged.resource, logged.host)
        if decision.allowed:
            return Explanation.DECLARED
        if self.scope.principals and not self.scope.owns_principal(logged.principal):
            return Explanation.OTHER_STACK
        if logged.rule == _SUPER_USER or logged.principal in (self.super_users or ()):
            return Explanation.EXEMPT
        return Explanation.UNKNOWN if self._may_be_super_user(logged) else Explanation.NONE

    def may_be_super_user(self, topic: str, use: Use) -> bool:
        """Return whether authorizer logs name a super user for ``use`` of ``topic``, or may do so."""
        return any(map(self._may_be_super_user, self._lines_of(use, topic)))

    def _may_be_super_user(self, logged: LoggedUse) -> bool:
        if logged.rule == _SUPER_USER or logged.principal in (self.super_users or ()):
            return True
        return self.super_users is None and _BY_ACL not in logged.rule

    def _lines_of(self, use: Use, topic: str) -> tuple[LoggedUse, ...]:
        """Return the lines of authorizer logs about a user: those on its name, or those of a principal on the topic."""
        if use.kind is UserKind.PRINCIPAL:
            lines = tuple(each for each in self.used_by_others(topic) if each.principal == use.name)
        else:
            kind = NAMED_BY.get(use.kind)
            lines = self.logged.get(Resource(kind, use.name) if kind else _topic(topic), ())
        return tuple(each for each in lines if each.allowed and each.operation is OPERATIONS[use.action])

    def candidates(self, topic: str, use: Use) -> tuple[tuple[str, ...], bool]:
        """Return the principals that may be the user, sorted, and whether an authorizer log names them.

        Without a log, these are the principals that live ACLs allow the use. ``User:*`` is not among them.
        """
        logged = {each.principal for each in self._lines_of(use, topic)}
        if logged:
            return tuple(sorted(logged)), True
        if self._live_use is None:
            return (), False
        return tuple(sorted(self._live_use.candidates(use, topic) - {ANY_PRINCIPAL})), False

    def allowing(self, topic: str, action: UseAction, principals: Iterable[str]) -> tuple[Acl, ...]:
        """Return the live ACLs that allow any of ``principals``, or everyone, to use the topic, sorted."""
        if self._live_acls is None:
            return ()
        named = {*principals, ANY_PRINCIPAL}
        return tuple(
            sorted(
                acl
                for acl in _about(self._live_acls, topic)
                if acl.permission is PermissionType.ALLOW
                and acl.principal in named
                and covers(acl.operation, acl.permission, OPERATIONS[action])
            )
        )

    @cached_property
    def acls_by_source(self) -> Mapping[AccessSource, tuple[Acl, ...]]:
        """The ACLs of each declaration, which names a topic, and perhaps a group or a transactional id."""
        found: dict[AccessSource, list[Acl]] = defaultdict(list)
        for acl, sources in self.declared.acls.items():
            for source in sources:
                found[source].append(acl)
        return {source: tuple(acls) for source, acls in found.items()}

    @cached_property
    def keeping_offsets(self) -> Mapping[str, list[str]]:
        """The groups without members that keep offsets of each topic."""
        return keeping_offsets(self.groups.values())

    @cached_property
    def logged(self) -> Mapping[Resource, tuple[LoggedUse, ...]]:
        """The decisions in the authorizer logs, by resource."""
        found: dict[Resource, list[LoggedUse]] = defaultdict(list)
        for each in self.logs.uses if self.logs else ():
            found[each.resource].append(each)
        return {resource: tuple(uses) for resource, uses in found.items()}

    @cached_property
    def super_users(self) -> frozenset[str] | None:
        """The super users of all brokers; None if a broker does not show them."""
        settings = self.live.settings if self.live else None
        if not settings or any(each.super_users is None for each in settings.values()):
            return None
        return frozenset().union(*(each.super_users or () for each in settings.values()))

    @cached_property
    def unsecured(self) -> bool:
        """True if the brokers have no authorizer: everyone may do everything."""
        if self.live is None:
            return False
        no_class = (each.class_name == "" for each in (self.live.settings or {}).values())
        return self.live.security_disabled or any(no_class)

    @cached_property
    def _may_be_open(self) -> bool:
        """True if a resource without an ACL is open to everyone, or may be: a broker does not show this setting."""
        settings = self.live.settings if self.live else None
        return not settings or any(each.open_without_acl is not False for each in settings.values())

    @cached_property
    def _declared_acls(self) -> Authorizer:
        return Authorizer(self.declared.acls, _BY_ACLS_ALONE)

    @cached_property
    def _declared_use(self) -> AclUse:
        return AclUse(self.declared.acls)

    @cached_property
    def _use_of_declared_topics(self) -> AclUse:
        """The declared ACLs, and the live ones on groups and transactional ids.

        The access of a topic is declared, and its users may have names that another declaration grants.
        """
        live = self._live_acls.acls if self._live_acls is not None else ()
        return AclUse({*self.declared.acls, *(acl for acl in live if acl.resource_type in NAMED_BY.values())})

    @cached_property
    def _live_acls(self) -> Authorizer | None:
        """The live ACLs; None if they are not visible, or without an authorizer."""
        if self.live is None or self.live.acls is None or self.unsecured:
            return None
        return Authorizer(self.live.acls, _BY_ACLS_ALONE)

    @cached_property
    def _live_use(self) -> AclUse | None:
        return AclUse(self._live_acls.acls) if self._live_acls is not None else None

    def _declares(self, users: frozenset[str], topic: str, use: Use, named: Resource) -> bool:
        """Return whether one of the declared ``users`` of the topic may use the group or transactional id.

        By declared or by live ACLs. A user whose declarations name no group or transactional id may have any one, if no
        ACL that is visible decides about it.
        """
        if self._use_of_declared_topics.candidates(use, topic):
            return True
        if users & (self.super_users or frozenset()):
            return True
        undecided = self._live_acls is None or (self._may_be_open and not self._live_acls.patterns(named))
        return undecided and any(not self._names_any(each, use.action, named.type) for each in users)

    def _names_any(self, principal: str, action: UseAction, kind: ResourceType) -> bool:
        """Return whether a declared ACL allows the principal the use of any group or transactional id."""
        return any(
            acl.permission is PermissionType.ALLOW and covers(acl.operation, acl.permission, OPERATIONS[action])
            for acl in self._declared_acls.acls_for(principal, kind)
        )

    def _hidden_for(self, named: Resource) -> bool:
        """Return whether an ACL or a setting that is not visible may allow declared users the group or the id."""
        if self.unsecured:
            return False
        if self._live_acls is None:
            return True
        return self._may_be_open and not self._live_acls.patterns(named)

    def _unowned(self, topic: str, use: Use, *, hidden: bool) -> Explanation:
        """Return whether a principal out of the scope of the stack may be the user.

        If the scope names no principals, the stack owns them all. ``hidden``: an ACL or a setting that is not visible
        may allow everyone the name of the user.
        """
        if not self.scope.principals:
            return Explanation.NONE
        if self._live_use is None:
            return Explanation.UNKNOWN
        found = self._live_use.candidates(use, topic)
        if any(each == ANY_PRINCIPAL or not self.scope.owns_principal(each) for each in found):
            return Explanation.OTHER_STACK
        return Explanation.UNKNOWN if hidden else Explanation.NONE


def _topic(name: str) -> Resource:
    return Resource(ResourceType.TOPIC, name)


def _about(acls: Authorizer, topic: str) -> Iterator[Acl]:
    for pattern in acls.patterns(_topic(topic)):
        yield from pattern
