"""The context in which a change of access is judged: decisions, evidence, owners, and what the YAML allows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from topicwarden.model.access import AccessKey, Acl, PermissionType
from topicwarden.model.message_text import first_lines
from topicwarden.model.planned_change import Severity
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_change import AccessChange
from topicwarden.plan.access_effects import Decisions, PrincipalEffect
from topicwarden.plan.access_evidence import AccessEvidence
from topicwarden.plan.consequence_text import shorten
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class StackTopics:
    """The topics of a stack: their owners, the locations of their YAML, and what each YAML allows today.

    ``owners`` has the declared topics. ``allowed`` also has topics that are no longer declared, with what their YAML
    allowed at the last deploy. ``live`` are the declared and the deployed topics that are on the cluster.
    """

    owners: Mapping[str, str | None] = field(default_factory=dict)
    locations: Mapping[str, Location | None] = field(default_factory=dict)
    allowed: Mapping[str, frozenset[AllowedChange]] = field(default_factory=dict)
    live: frozenset[str] = frozenset()

    @cached_property
    def deleted(self) -> frozenset[str]:
        """The topics that the same deploy deletes. ``destroyed`` reports who reads them."""
        return self.live - self.owners.keys()


@dataclass(frozen=True)
class OwnClient:
    """The client that deploys. ``principal`` is None if the connection does not tell it, for the reason ``unknown``."""

    principal: str | None = None
    mechanism: str | None = None
    unknown: str = ""


@dataclass(frozen=True)
class AccessContext:
    """A change of access, and all that is known about it.

    ``allowed`` is what each file below ``access/`` allows today, by file; a file that is gone, what it allowed before.
    ``needed`` are the allowances that the consequences judged so far rely on, each with its topic or file.
    """

    change: AccessChange
    decisions: Decisions
    effects: tuple[PrincipalEffect, ...] = ()
    evidence: AccessEvidence = field(default_factory=AccessEvidence)
    topics: StackTopics = field(default_factory=StackTopics)
    allowed: Mapping[str, frozenset[AllowedChange]] = field(default_factory=dict)
    own: OwnClient = field(default_factory=OwnClient)
    scope: StackScope = EVERY_TOPIC
    now: int = 0
    needed: set[tuple[str, AllowedChange]] = field(default_factory=set, compare=False)

    def severity(self, allowance: AllowedChange, parts: Iterable[AccessKey]) -> Severity:
        """Return ``REFUSED``, or ``DANGER`` if each file that declares, or declared, ``parts`` allows the change.

        What no file has declared, nothing allows.
        """
        homes = self.homes(parts)
        if not homes or self._lacking(allowance, homes):
            return Severity.REFUSED
        self.needed.update((home, allowance) for home in homes)
        return Severity.DANGER

    def remedy(self, allowance: AllowedChange, instead: str, parts: Iterable[AccessKey]) -> str:
        """Return the remedy of a refused change: do ``instead``, or allow it; empty if the change is allowed.

        It names the files that lack the allowance only.
        """
        homes = self.homes(parts)
        lacking = self._lacking(allowance, homes)
        if homes and not lacking:
            return ""
        topics = [home for home in lacking if "/" not in home]
        files = [f"the YAML of {shorten(topics)}"] if topics else []
        files += [home for home in lacking if "/" in home] or ([] if homes else ["its YAML"])
        allow = f"write {allowance.line} into {' and '.join(files)}"
        return f"{instead}; if it is intended, {allow}" + (", and deploy that first" if self.change.destroying else "")

    def location(self, acls: Iterable[Acl]) -> Location | None:
        """Return where one of ``acls`` is declared; else the YAML of a topic that declared one of them before."""
        acls = sorted(acls)
        declared = (source.location for acl in acls for source in self.change.declared.acls.get(acl, ()))
        before = (
            location
            for acl in acls
            for topic in self.change.deployed.homes.get(acl, ())
            if (location := self.topics.locations.get(topic)) is not None
        )
        return next(declared, None) or next(before, None)

    def responsible(self, effects: Iterable[PrincipalEffect]) -> list[Acl]:
        """Return the changed ACLs by which ``effects`` come about, sorted."""
        return sorted({acl for effect in effects for acl in effect.acls})

    def homes(self, parts: Iterable[AccessKey]) -> frozenset[str]:
        """Return the topics and the files below ``access/`` that declare, or declared, ``parts``."""
        declared, deployed = self.change.declared.homes, self.change.deployed.homes
        return frozenset(home for part in parts for home in declared.get(part) or deployed.get(part, ()))

    def _lacking(self, allowance: AllowedChange, homes: Iterable[str]) -> list[str]:
        files, topics = self.allowed, self.topics.allowed  # only the name of a file has a slash
        return sorted(home for home in homes if allowance not in topics.get(home, files.get(home, ())))


def acl_reasons(context: AccessContext, acls: Collection[Acl]) -> Iterable[str]:
    """Yield one reason for each of the first ``acls``: whether the deploy creates or deletes it."""
    lines = [f"the deploy {'creates' if acl in context.change.after else 'deletes'} `{acl}`" for acl in sorted(acls)]
    yield from first_lines(lines, _MOST_ACLS, "ACL")


_MOST_ACLS = 4


def verb(acls: Iterable[Acl]) -> tuple[str, str]:
    """Return the words for a loss by ``acls``: ``revoking … from``, or ``denying … to`` if each of them denies."""
    return ("denying", "to") if all(acl.permission is PermissionType.DENY for acl in acls) else ("revoking", "from")
