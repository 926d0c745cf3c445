"""The uses that no declared access allows, with the entry of ``access:`` that would declare each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from topicwarden.model.access import Grant
from topicwarden.model.problem import Location
from topicwarden.model.usage import NAMED_BY, TopicUse, Use, UseAction, UserKind
from topicwarden.model.usage_report import UndeclaredUse
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.write.topic_access import grant_text
from topicwarden.usage.principals import Principals

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
        for user in sorted(use.users, key=lambda each: (each.action, each.kind, each.name)):
            if _was_seen(user, use) and principals.needs_declaration(user, topic):
                yield _undeclared(topic, user, principals, declarations.get(topic))


def _was_seen(user: Use, use: TopicUse) -> bool:
    return user.active or user.kind is UserKind.PRINCIPAL or use.under_unchanged_access(user)


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
    return "anyone can be the user"
