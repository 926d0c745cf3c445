"""The protocol of the checks of access, and their results. They judge the access of a stack, not a single topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from topicwarden.audit.check import Evidence
from topicwarden.kinds.difference import AccessPart
from topicwarden.model.access import Acl, DeclaredAccess, LiveAccess
from topicwarden.model.finding import OF_CLUSTER
from topicwarden.model.message_text import first_of
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.use_history import RememberedUse

_SHOWN = 3


@dataclass(frozen=True)
class AuditedAccess:
    """The access that a stack declares, and that of its cluster.

    ``topics`` are the declared topics, ``absent_topics`` names in ACLs for which the brokers report that no topic has
    them. ``broker_configs`` has the effective settings by broker; it is empty if the brokers do not show them. ``use``:
    who uses the topics of the cluster, and all its groups (``use.groups``), from all observations. ``usage``: when
    groups are idle. ``unread``: the groups that have a record to read, by topic.
    """

    declared: DeclaredAccess
    live: LiveAccess
    scope: StackScope = EVERY_TOPIC
    topics: frozenset[str] = frozenset()
    absent_topics: frozenset[str] = frozenset()
    broker_configs: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    use: RememberedUse = field(default_factory=RememberedUse)
    usage: UsagePolicy | None = None
    unread: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def owns(self, acl: Acl) -> bool:
        """Return whether the scope of the stack names principals, and the ACL is in scope.

        Without principals in the scope, an ACL that the stack does not declare may belong to another stack.
        """
        return bool(self.scope.principals) and self.scope.owns_acl(acl)

    def owns_user(self, name: str) -> bool:
        """Return whether the scope of the stack names principals, and ``User:name`` is one of them."""
        return bool(self.scope.principals) and self.scope.owns_principal(f"User:{name}")


@dataclass(frozen=True)
class AccessResult:
    """A verdict on access, with the reasons. ``topic`` is ``OF_CLUSTER`` if it concerns no single topic."""

    verdict: Verdict
    message: str
    topic: str = OF_CLUSTER
    location: Location | None = None
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)


class AccessCheck(Protocol):
    """A module of ``kinds/<kind>/checks/``. Its docstring is the documentation of the check, and its name the id."""

    def applies(self, access: AuditedAccess, /) -> bool:
        """Return whether the check applies. If it does and has no results, the cluster passes."""

    def judge(self, access: AuditedAccess, /) -> Iterable[AccessResult]:
        """Yield the results; call this only if ``applies`` is true."""


def hidden(access: AuditedAccess, part: str, what: str) -> AccessResult:
    """Return the result for a part of the access that could not be read."""
    reason = access.live.missing.get(part, "the brokers did not return them")
    remedy = reason.replace("this user lacks", "grant") if reason.startswith("this user lacks") else ""
    return AccessResult(Verdict.UNDECIDABLE, f"{what} could not be read: {reason}", remedy=remedy)


def settings_drift(
    access: AuditedAccess,
    part: AccessPart[Any, Any],
    owner: Callable[[Any], str],
    equal: Callable[[str, Any, Any], bool] = lambda _, expected, seen: bool(expected == seen),
    text: Callable[[Any], str] = str,
) -> Iterator[AccessResult]:
    """Yield a failure for each value of a declared entry that differs on the cluster.

    ``owner`` names what has the values, such as ``group billing``, given the key of the entry. ``equal`` compares a
    value by name, declared and live; None is a value that is not set.
    """
    live = access.live.part(part.name)
    if live is None:
        yield hidden(access, part.name, f"the {part.plural}")
        return
    for key, declared in access.declared.part(part.name).items():
        if key not in live and part.name in access.live.missing:
            yield hidden(access, part.name, f"the {part.title(key)}")
            continue
        found = live.get(key, {})
        for name in sorted(declared.keys() | found.keys()):
            expected, seen = declared.get(name), found.get(name)
            if not equal(name, expected, seen):
                declared_text, seen_text = (
                    "not set" if each in (None, "") else text(each) for each in (expected, seen)
                )
                yield AccessResult(
                    Verdict.FAIL,
                    f"{name} of {owner(key)} is {seen_text}, declared {declared_text}",
                    location=access.declared.location(part.name, key),
                    remedy="run `topicwarden up --refresh`, or declare the live value",
                )


def undeclared_in_scope(
    access: AuditedAccess, part: AccessPart[Any, Any], user: Callable[[Any], str | None]
) -> Iterator[AccessResult]:
    """Yield a failure for each live entry of a user in the scope of the stack that the stack does not declare."""
    for key in sorted((access.live.part(part.name) or {}).keys() - access.declared.part(part.name).keys(), key=str):
        name = user(key)
        if name is not None and access.owns_user(name):
            yield AccessResult(
                Verdict.FAIL,
                f"the {part.title(key)} is in the scope of the stack, but not declared",
                remedy="declare it, or remove it",
            )


def listed(items: Collection[object]) -> str:
    """Return the first items as text, and the number of the others."""
    return first_of(sorted(map(str, items)), _SHOWN, separator="; ")
