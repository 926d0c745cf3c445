"""``access-opened``: everyone gains access, or a principal outside the owner's gains Write, or control of the cluster.

A principal is outside the owner's if it may write topics of other owners, but none of this owner. A new principal has
no owner yet. A prefix that reaches topics which the stack does not declare opens them as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from topicwarden.model.access import CLUSTER, Acl, Operation, PermissionType, Resource, ResourceType
from topicwarden.model.planned_change import Consequence
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext, acl_reasons
from topicwarden.plan.access_effects import EVERYONE_ELSE, PrincipalEffect
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten

KIND = "access-opened"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "everyone gains an operation, also by the end of the last ACL or of a DENY",
        (AllowedChange.OPEN_ACCESS,),
        "anybody may read or write; Describe and DescribeConfigs do not count",
    ),
    ChangeGuard(
        "a principal gains Write on a topic of another owner, or by a prefix on topics that are not declared",
        (AllowedChange.OPEN_ACCESS,),
        "a principal belongs to the owners whose topics it may write already; a new one belongs to nobody",
    ),
    ChangeGuard(
        "a principal gains Alter on the Cluster resource",
        (AllowedChange.OPEN_ACCESS,),
        "it can grant itself everything",
    ),
)
_HARMLESS: Final = frozenset({Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.IDEMPOTENT_WRITE})


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return what everyone gains, and who gains Write outside of the owner's."""
    gains = [effect for effect in context.effects if effect.gained and effect.operation not in _HARMLESS]
    everyone = [effect for effect in gains if effect.principal == EVERYONE_ELSE and _exists(context, effect)]
    by_resource: dict[Resource, list[PrincipalEffect]] = {}
    for effect in everyone:
        by_resource.setdefault(effect.resource, []).append(effect)
    for _, effects in sorted(by_resource.items()):
        yield _everyone(context, effects)
    yield from _outsiders(context, [effect for effect in gains if effect.principal != EVERYONE_ELSE])
    yield from _administrators(context, [effect for effect in gains if effect.principal != EVERYONE_ELSE])


def _exists(context: AccessContext, effect: PrincipalEffect) -> bool:
    """Return whether an ACL grants the access, or the topic stays: to lose its last ACL opens no deleted topic."""
    if effect.resource.type is not ResourceType.TOPIC or effect.pattern:
        return True
    granted = any(acl.permission is PermissionType.ALLOW and acl in context.change.after for acl in effect.acls)
    name = effect.resource.name
    exists = name in context.topics.live or name in context.evidence.known.get(ResourceType.TOPIC, ())
    return granted or (exists and name not in context.topics.deleted)


def _everyone(context: AccessContext, effects: list[PrincipalEffect]) -> Consequence:
    acls = context.responsible(effects)
    last = not context.decisions.has_acl_after(effects[0].resource)
    reasons = [*acl_reasons(context, acls)]
    if last:
        known = (
            "is true" if context.change.open_without_acl_known else "is not shown by the brokers, and counts as true"
        )
        reasons.append(f"no ACL is left on it, and allow.everyone.if.no.acl.found {known}")
    return _consequence(
        context,
        acls,
        f"everyone gains {_joined(effects)}",
        reasons,
        "keep an ACL on it" if last else "name the principals",
        evidence={"principal": EVERYONE_ELSE, "gains": _joined(effects)},
    )


def _outsiders(context: AccessContext, gains: Iterable[PrincipalEffect]) -> Iterator[Consequence]:
    writes = [
        effect for effect in gains if effect.operation is Operation.WRITE and effect.resource.type is ResourceType.TOPIC
    ]
    by_principal: dict[str, list[PrincipalEffect]] = {}
    for effect in writes:
        by_principal.setdefault(effect.principal, []).append(effect)
    named: dict[str, list[str]] = {}
    for topic in sorted(context.topics.owners):
        for principal in context.decisions.named(Resource(ResourceType.TOPIC, topic)) & by_principal.keys():
            named.setdefault(principal, []).append(topic)
    for principal, effects in sorted(by_principal.items()):
        owned = _owned_topics(context, principal, named.get(principal, []))
        reached = [(effect, topic) for effect in effects for topic in _topics(context, effect)]
        undeclared = sorted(
            {topic for effect, topic in reached if effect.pattern and topic not in context.topics.owners}
        )
        foreign: dict[str, list[str]] = {}
        for _, topic in reached:
            owner = context.topics.owners.get(topic)
            if owner is not None and owned and owner not in owned:
                foreign.setdefault(owner, []).append(topic)
        for owner, topics in sorted(foreign.items()):
            concerned = [effect for effect, topic in reached if topic in topics]
            acls = context.responsible(concerned)
            others = ", ".join(f"{name} of {other}" for other, name in sorted(owned.items())[:3])
            yield _consequence(
                context,
                acls,
                f"{principal} gains Write on {shorten(sorted(set(topics)))} of {owner}",
                [*acl_reasons(context, acls), f"{principal} writes {others}, and no topic of {owner} until now"],
                f"let a principal of {owner} write",
                evidence={"principal": principal, "gains": f"Write on {', '.join(sorted(set(topics)))}"},
            )
        if undeclared:
            concerned = [effect for effect in effects if effect.pattern]
            acls = context.responsible(concerned)
            yield _consequence(
                context,
                acls,
                f"{principal} gains Write on {shorten(undeclared)}, which this stack does not declare",
                [*acl_reasons(context, acls)],
                "grant a longer prefix, or the names",
                evidence={"principal": principal, "gains": f"Write on {', '.join(undeclared)}"},
            )


def _administrators(context: AccessContext, gains: Iterable[PrincipalEffect]) -> Iterator[Consequence]:
    for effect in gains:
        if effect.resource == CLUSTER and effect.operation is Operation.ALTER:
            acls = context.responsible([effect])
            yield _consequence(
                context,
                acls,
                f"{effect.principal} gains Alter on Cluster, by which it can grant itself everything",
                [*acl_reasons(context, acls), "Alter on Cluster creates and deletes ACLs (KafkaApis.handleCreateAcls)"],
                "grant Describe, or operations on topics and groups",
                evidence={"principal": effect.principal, "gains": "Alter on Cluster"},
            )


def _owned_topics(context: AccessContext, principal: str, topics: Iterable[str]) -> Mapping[str, str]:
    """Return one of ``topics`` by owner that ``principal`` may write before the deploy, as an ACL of its own says."""
    decisions = context.decisions
    found: dict[str, str] = {}
    for topic in topics:
        owner = context.topics.owners[topic]
        if owner is None or owner in found:
            continue
        resource = Resource(ResourceType.TOPIC, topic)
        if any(
            outcome.before.allowed and outcome.before.acl is not None and outcome.before.acl.principal == principal
            for host in decisions.hosts(resource)
            for outcome in decisions.outcomes(principal, Operation.WRITE, resource, host)
        ):
            found[owner] = topic
    return found


def _topics(context: AccessContext, effect: PrincipalEffect) -> list[str]:
    """Return the topics that ``effect`` is about: one, or all known ones with its prefix."""
    if not effect.pattern:
        return [effect.resource.name]
    prefix = effect.pattern.removesuffix("*")
    known = {*context.evidence.known.get(ResourceType.TOPIC, ()), *context.topics.owners}
    return sorted(topic for topic in known if topic.startswith(prefix))


def _joined(effects: list[PrincipalEffect]) -> str:
    """Return ``Read, Write on Topic orders``."""
    resource = effects[0].text.partition(" on ")[2]
    return f"{', '.join(dict.fromkeys(effect.operation.value for effect in effects))} on {resource}"


def _consequence(
    context: AccessContext,
    acls: list[Acl],
    message: str,
    because: list[str],
    instead: str,
    *,
    evidence: dict[str, int | float | str | None],
) -> Consequence:
    return Consequence(
        kind=KIND,
        severity=context.severity(AllowedChange.OPEN_ACCESS, acls),
        message=message,
        because=because,
        measured="the decisions of Kafka's authorizer on the ACLs before and after the deploy",
        remedy=context.remedy(AllowedChange.OPEN_ACCESS, instead, acls),
        evidence=evidence,
        location=context.location(acls),
    )
