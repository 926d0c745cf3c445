"""The principals that the user of a topic can be, and whether declared access allows the use, for a usage report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from topicwarden.model.access import ANY_PRINCIPAL, AuthorizerSettings, Grant, LiveAccess
from topicwarden.model.problem import Location
from topicwarden.model.usage import NAMED_BY, TopicUse, Use, UseAction, UserKind
from topicwarden.model.usage_report import UndeclaredUse
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.write.topic_access import grant_text
from topicwarden.usage.declared_use import AclUse
from topicwarden.usage.use_context import Explanation, UseContext


class Principals:
    """The principals behind users of topics, by the same ``context`` as the checks of an audit."""

    def __init__(self, context: UseContext) -> None:
        self.context = context

    def declares_access(self, topic: str) -> bool:
        """Return whether declared access, other than that of a bare wildcard, allows to read or write the topic."""
        return bool(self.context.declaring(topic))

    def declared(self, use: Use, topic: str) -> bool | None:
        """Return whether declared access allows ``use`` of ``topic``.

        None if the topic declares no access, if the policy exempts the user, if it is of another stack, or if an ACL
        that is not visible may allow it.
        """
        explanation = self.context.explain(topic, use)
        if explanation is Explanation.DECLARED:
            return True
        return False if explanation is Explanation.NONE and self.declares_access(topic) else None

    def needs_declaration(self, use: Use, topic: str) -> bool:
        """Return whether nothing explains ``use``, or the topic declares no access."""
        explanation = self.context.explain(topic, use)
        if self.declares_access(topic):
            return explanation is Explanation.NONE
        return explanation in (Explanation.NONE, Explanation.UNKNOWN)

    def candidates(self, use: Use, topic: str) -> list[str] | None:
        """Return the principals that can be the user, sorted, ``User:*`` for anyone; None if the ACLs are unknown.

        A super user can be the user as well. If the logs of the brokers name principals for the group or the
        transactional id, only these are candidates.
        """
        if use.kind is UserKind.PRINCIPAL:
            return [use.name]
        if use.kind in NAMED_BY:
            found, logged = self.context.candidates(topic, use)
            if logged:
                return list(found)
        return None if self._live is None else sorted(self._live.candidates(use, topic))

    def principal(self, use: Use, topic: str) -> str | None:
        """Return the only principal that can be the user; None if there are several, or if it may be a super user."""
        found = self.candidates(use, topic)
        if found is None or len(found) != 1 or found[0] == ANY_PRINCIPAL:
            return None
        named = use.kind is UserKind.PRINCIPAL or use.kind in NAMED_BY
        return None if named and self.context.may_be_super_user(topic, use) else found[0]

    @cached_property
    def _live(self) -> AclUse | None:
        """The live ACLs; None if they are unknown, or if nothing is secured."""
        live = self.context.live
        if live is None or live.acls is None or self.context.unsecured:
            return None
        return AclUse(live.acls, _possible_settings(live, self.context.super_users))


def _possible_settings(live: LiveAccess, super_users: frozenset[str] | None) -> AuthorizerSettings:
    """Return the settings that allow most. If a broker does not show whether a resource without ACLs is open, it may be
    open; the brokers of KRaft never do.
    """
    settings = list((live.settings or {}).values())
    return AuthorizerSettings(
        next((each.class_name for each in settings if each.class_name), "unknown"),
        super_users or frozenset(),
        not settings or any(each.open_without_acl is not False for each in settings),
        any(each.host_ranges for each in settings),
    )


KEYS: Final = {UseAction.READ: "consume", UseAction.WRITE: "produce"}
"""The key of ``access:`` for each action."""
UNKNOWN_PRINCIPAL: Final = "PRINCIPAL"
"""Stands for the principal in an entry that a person completes."""


def undeclared_uses(
    uses: Mapping[str, TopicUse], principals: Principals, declarations: Mapping[str, Declaration]
) -> Iterator[UndeclaredUse]:
    """Yield the uses that observations have shown and no declared access allows, by topic, action and name.

    Committed offsets that never moved are no use: an earlier group may have left them. A use before the declared access
    changed counts neither.
    """
    for topic, use in sorted(uses.items()):
        found = [
            _undeclared(topic, user, principals, declarations.get(topic))
            for user in sorted(use.users, key=lambda each: (each.action, each.kind, each.name))
            if _was_seen(user, use) and principals.needs_declaration(user, topic)
        ]
        named = {(each.action, each.principal) for each in found if each.kind is not UserKind.PRINCIPAL}
        # The entry of a group or a transactional id also allows its principal to use the topic.
        yield from (
            each for each in found if each.kind is not UserKind.PRINCIPAL or (each.action, each.name) not in named
        )


def _was_seen(user: Use, use: TopicUse) -> bool:
    # The lines of a log may be older than the first observation. As long as the access has not changed, they count.
    logged = user.kind is UserKind.PRINCIPAL and use.access_unchanged_since == use.observed_since
    return user.active or logged or use.under_unchanged_access(user)


def _undeclared(topic: str, user: Use, principals: Principals, declaration: Declaration | None) -> UndeclaredUse:
    principal, candidates = principals.principal(user, topic), principals.candidates(user, topic)
    return UndeclaredUse(
        topic=topic,
        action=user.action,
        kind=user.kind,
        name=user.name,
        principal=principal,
        candidates=[] if principal or candidates is None else candidates,
        access_declared=principals.declares_access(topic),
        entry=grant_text(grant_of(user.kind, user.name, principal or UNKNOWN_PRINCIPAL), user.action is UseAction.READ),
        location=_location(declaration, user.action),
        reason=_reason(principal, candidates, declaration),
    )


def grant_of(kind: UserKind, name: str, principal: str) -> Grant:
    """Return the grant that allows a use to ``principal``."""
    return Grant(principal, name=name if kind in NAMED_BY else None)


def _location(declaration: Declaration | None, action: UseAction) -> Location | None:
    return None if declaration is None else declaration.locations.at(("access", KEYS[action]))


def _reason(principal: str | None, candidates: list[str] | None, declaration: Declaration | None) -> str:
    """Return why the entry cannot be written; empty if it can."""
    if declaration is None:
        return "the topic is not declared"
    if principal is not None:
        return ""
    if candidates is None:
        return "the ACLs of the cluster are unknown, or it has none"
    if not candidates:
        return "no ACL allows it to anyone but super users"
    if len(candidates) > 1:
        return f"{len(candidates)} principals can be the user"
    return "anyone can be the user" if candidates == [ANY_PRINCIPAL] else f"{candidates[0]} may be a super user"
