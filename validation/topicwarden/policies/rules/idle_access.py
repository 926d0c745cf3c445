"""Warn about ACLs that have no effect.

- Kafka does not have the operation for this type of resource, such as Write on a group. At most, it implies Describe.
- `*` is a wildcard only if it is the whole literal name. In a prefix, or in a longer name, it is a plain character,
  and no topic name has it. `User:*` is every principal; in the name of another user, `*` is a plain character, too. The
  rule accepts it at the start of a host name, `User:CN=*.example.com`, as certificates have it.
- No resource has the name: topics have no other characters, and users are named with their type, as `User:billing`.
- Another entry allows or denies all of the same: for all hosts, all operations, or more names.
- A Deny is about all that an Allow is about: Deny always wins. An Allow still implies operations that nothing denies:
  with Read denied, Allow Read allows only Describe.

Remedy: delete the entry, or correct its name: `{name: orders., pattern: Prefixed}` instead of `orders.*`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS, covers, implied_operations
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.topic_names import is_legal_part
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, AdviceSettings

_ANY_HOST_OF_A_DOMAIN: Final = re.compile(r"(?<![^:=])\*\.")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    index = _Index(access)
    for acl, sources in access.acls.items():
        if message := _unknown_operation(acl) or _without_effect(acl, index):
            yield from (AccessViolation(each.location, message, each.topic) for each in sources)


def _unknown_operation(acl: Acl) -> str | None:
    known = SUPPORTED_OPERATIONS[acl.resource_type]
    if acl.operation in (Operation.ALL, *known):
        return None
    return f"{acl}: {acl.resource_type} has no operation {acl.operation}, only {', '.join(known)}"


def _without_effect(acl: Acl, index: _Index) -> str | None:
    if acl.principal != ANY_PRINCIPAL and WILDCARD in _ANY_HOST_OF_A_DOMAIN.sub("", acl.principal):
        return (
            f"{acl}: * in a principal is a plain character, and only {ANY_PRINCIPAL} is every principal, so this "
            "matches only one principal with exactly this name; name each principal"
        )
    wildcard = acl.resource_name == WILDCARD and acl.pattern_type is PatternType.LITERAL
    if acl.resource_type is not ResourceType.CLUSTER and not wildcard and WILDCARD in acl.resource_name:
        return f"{acl}: {_plain_asterisk(acl)}"
    if reason := _no_such_name(acl):
        return f"{acl} has no effect: {reason}"
    effect = index.lost_effect(acl)
    return f"{acl} {effect}" if effect else None


def _no_such_name(acl: Acl) -> str | None:
    """Return why no resource can have the name of ``acl``; None if one can."""
    if acl.resource_name == WILDCARD:
        return None
    if acl.resource_type is ResourceType.TOPIC and not is_legal_part(acl.resource_name):
        return "no topic can have this name"
    # KafkaApis authorizes a user by its principal, User:NAME (KIP-373).
    if (
        acl.resource_type is ResourceType.USER
        and acl.pattern_type is PatternType.LITERAL
        and ":" not in acl.resource_name
    ):
        return f"a user is named with its type; write User:{acl.resource_name}"
    return None


def _plain_asterisk(acl: Acl) -> str:
    kind = "a literal name" if acl.pattern_type is PatternType.LITERAL else "a prefix"
    prefix = acl.resource_name.removesuffix(WILDCARD)
    remedy = f"write the prefix {prefix}" if prefix and WILDCARD not in prefix else "remove it"
    if acl.resource_name == WILDCARD:
        remedy = f"for every name, write the literal {WILDCARD}"
    matched = "no topic" if acl.resource_type is ResourceType.TOPIC else "only names with it"
    return f"* in {kind} is a plain character, so this matches {matched}; {remedy}"


class _Index:
    """The declared ACLs by what they are about, to find those that cover another one without comparing all pairs."""

    def __init__(self, access: DeclaredAccess) -> None:
        self._access = access
        self._by_subject: Mapping[tuple[str, ResourceType, PatternType, str], list[Acl]] = defaultdict(list)
        for acl in access.acls:
            self._by_subject[acl.principal, acl.resource_type, acl.pattern_type, acl.resource_name].append(acl)

    def lost_effect(self, acl: Acl) -> str | None:
        """Return what other ACLs leave of ``acl``, and why: ``has no effect: …``; None if it has its full effect."""
        own_location = self._access.acls[acl][0].location
        for other in self._around(acl):
            location = self._access.acls[other][0].location
            if other.host not in (WILDCARD, acl.host) or location == own_location:
                continue  # `[Read, Describe]` in one entry is no mistake
            shadows = (
                acl.permission is PermissionType.ALLOW
                and other.permission is PermissionType.DENY
                and other.operation in (acl.operation, Operation.ALL)
            )
            # If they contradict each other in all parts, this is an error of its own.
            if shadows and replace(acl, permission=other.permission) != other:
                left = self._implied(acl)
                effect = f"allows only {' and '.join(left)}" if left else "has no effect"
                remedy = f"write {' and '.join(left)}, or " if left else ""
                return f"{effect}: {other} ({location}) always wins; {remedy}delete one of the two"
            same = acl.permission is other.permission and acl != other
            if same and covers(other.operation, other.permission, acl.operation):
                return f"has no effect: {other} ({location}) includes it; delete it"
        return None

    def _implied(self, acl: Acl) -> list[Operation]:
        """Return the operations that ``acl`` implies and no Deny is about."""
        denied = [other for other in self._around(acl) if other.permission is PermissionType.DENY]
        return [
            each
            for each in implied_operations(acl.operation, acl.resource_type)
            if not any(
                other.host in (WILDCARD, acl.host) and covers(other.operation, other.permission, each)
                for other in denied
            )
        ]

    def _around(self, acl: Acl) -> Iterator[Acl]:
        """Yield the ACLs about the same principal, or all principals, and at least the same names."""
        name, literal = acl.resource_name, acl.pattern_type is PatternType.LITERAL
        names = [(PatternType.LITERAL, WILDCARD)]
        names += [(PatternType.LITERAL, name)] if literal and name != WILDCARD else []
        names += [(PatternType.PREFIXED, name[:end]) for end in range(1, len(name) + 1)] if name != WILDCARD else []
        for principal in dict.fromkeys((acl.principal, ANY_PRINCIPAL)):
            for pattern_type, other in names:
                yield from self._by_subject.get((principal, acl.resource_type, pattern_type, other), ())
