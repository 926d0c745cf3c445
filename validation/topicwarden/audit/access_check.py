"""The protocol of the checks of access, and their results. They judge the access of a stack, not a single topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from topicwarden.audit.check import Evidence
from topicwarden.kinds.difference import NOT_DECLARED, AccessPart
from topicwarden.model.access import Acl, DeclaredAccess, Key, LiveAccess, Value
from topicwarden.model.finding import OF_CLUSTER
from topicwarden.model.message_text import first_of
from topicwarden.model.problem import Location
from topicwarden.model.units import setting_text
from topicwarden.model.verdict import Verdict
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.use_history import RememberedUse

_SHOWN = 3
_CHANGED = "run `topicwarden up --refresh`, or declare the live value"


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


@dataclass(frozen=True)
class DriftCheck(Generic[Key, Value]):
    """A check that fails for each declared entry that differs on the cluster, and for undeclared ones in the scope.

    - ``part``: the part of the access that has the entries.
    - ``differences``: yields the message and the remedy of each difference, given the key, the declared value, and the
      live one; None if the cluster lacks the entry. Without, ``notes`` compares the entries.
    - ``user``: the user of an entry, if it has one. An entry of a user in the scope of the stack must be declared.
    - ``notes``: yields further results, given the live entries.
    - ``plural``: the words for all entries if they could not be read, if these are not those of ``part``.
    """

    part: AccessPart[Key, Value]
    differences: Callable[[Key, Value, Value | None], Iterable[tuple[str, str]]] = lambda *_: ()
    user: Callable[[Key], str | None] = lambda _: None
    notes: Callable[[AuditedAccess, Mapping[Key, Value]], Iterable[AccessResult]] = lambda *_: ()
    plural: str = ""

    def applies(self, access: AuditedAccess) -> bool:
        """Return whether the stack declares entries."""
        return bool(access.declared.part(self.part.name))

    def judge(self, access: AuditedAccess) -> Iterator[AccessResult]:
        """Yield a failure for each difference, and the notes; one result if the entries could not be read."""
        name, live = self.part.name, access.live.part(self.part.name)
        if live is None:
            yield hidden(access, name, f"the {self.plural or self.part.plural}")
            return
        declared = access.declared.part(name)
        for key, value in declared.items():
            if key not in live and name in access.live.missing:
                yield hidden(access, name, f"the {self.part.title(key)}")
                continue
            for message, remedy in self.differences(key, value, live.get(key)):
                yield AccessResult(Verdict.FAIL, message, location=access.declared.location(name, key), remedy=remedy)
        for key in sorted(live.keys() - declared.keys(), key=str):
            user = self.user(key)
            if user is not None and access.owns_user(user):
                message = f"the {self.part.title(key)} is in the scope of the stack, but not declared"
                yield AccessResult(Verdict.FAIL, message, remedy="declare it, or remove it")
        yield from self.notes(access, live)


def by_name(
    owner: Callable[[Key], str],
    equal: Callable[[str, Any, Any], bool] = lambda _, expected, seen: bool(expected == seen),
) -> Callable[[Key, Mapping[str, Any], Mapping[str, Any] | None], Iterator[tuple[str, str]]]:
    """Return the ``differences`` of a kind whose values are settings by name.

    ``owner`` names what has the settings, such as ``group billing``, given the key of the entry. ``equal`` compares a
    setting by name, declared and live; None is one that is not set.
    """

    def differences(
        key: Key, declared: Mapping[str, Any], found: Mapping[str, Any] | None
    ) -> Iterator[tuple[str, str]]:
        live = found or {}
        for name in sorted(declared.keys() | live.keys()):
            values = declared.get(name), live.get(name)
            if not equal(name, *values):
                expected, seen = ("not set" if each in (None, "") else setting_text(name, each) for each in values)
                message = f"{name} of {owner(key)} is {seen}, declared {expected}"
                yield message, _CHANGED if name in declared else NOT_DECLARED

    return differences


def listed(items: Collection[object]) -> str:
    """Return the first items as text, and the number of the others."""
    return first_of(sorted(map(str, items)), _SHOWN, separator="; ")
