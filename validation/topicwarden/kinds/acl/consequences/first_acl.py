"""``first-acl``: a resource gets its first ACL, and was open to everyone until then.

With ``allow.everyone.if.no.acl.found``, a resource without any ACL is open to everyone. Its first ACL, of any
principal, ends that for all principals that no ACL allows (``StandardAuthorizerData.authorize``). If brokers do not
show the setting, it counts as true. A resource that nobody has yet is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topicwarden.kinds.acl.consequences.access_lost import group_state
from topicwarden.model.access import CLUSTER, Acl, PermissionType, Resource, ResourceType
from topicwarden.model.planned_change import Consequence
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.access_effects import changed_resources, resource_text
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten

KIND = "first-acl"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "a resource gets its first ACL, with `allow.everyone.if.no.acl.found`",
        (AllowedChange.FIRST_ACL,),
        "everyone whom no ACL allows is shut out; a setting that brokers do not show counts as true",
    ),
)


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return each existing resource that gets its first ACL, and who uses it now."""
    for resource in sorted(changed_resources(context.change, context.evidence.known)):
        if context.decisions.first_acl(resource) and _exists(context, resource):
            yield _consequence(context, resource, context.decisions.changed_on(resource))


def _exists(context: AccessContext, resource: Resource) -> bool:
    """Return whether somebody may use ``resource`` now: a topic exists; a group or a transactional id is known."""
    evidence = context.evidence
    match resource.type:
        case ResourceType.TOPIC:
            return resource.name in evidence.topics or resource.name in context.topics.live
        case ResourceType.GROUP:
            known = resource.name in evidence.known.get(resource.type, ())
            return known or bool(evidence.groups_missing)
        case ResourceType.TRANSACTIONAL_ID:
            known = resource.name in evidence.known.get(resource.type, ())
            return known or bool(evidence.transactions_missing)
        case _:
            return True


def _consequence(context: AccessContext, resource: Resource, acls: list[Acl]) -> Consequence:
    allowed = {acl.principal for acl in acls if acl.permission is PermissionType.ALLOW}
    keep = " and ".join([shorten(sorted(allowed)), "super users"] if allowed else ["super users"])
    setting = "allow.everyone.if.no.acl.found"
    known = context.change.open_without_acl_known
    return Consequence(
        kind=KIND,
        severity=context.severity(AllowedChange.FIRST_ACL, acls),
        message=f"the first ACL on {resource_text(resource)} shuts out everyone except {keep}",
        because=[
            f"{setting} is true: without an ACL, everyone may use it"
            if known
            else f"brokers do not show {setting}, so it counts as true: without an ACL, everyone may use it",
            *_users(context, resource),
        ],
        measured="the ACLs of the cluster; groups, transactional ids and producers as brokers report them, without "
        "their principals",
        remedy=context.remedy(
            AllowedChange.FIRST_ACL, "declare the access of all who use it now in the same deploy", acls
        ),
        evidence={"resource": str(resource)},
        location=context.location(acls),
    )


def _users(context: AccessContext, resource: Resource) -> Iterator[str]:
    """Yield who uses ``resource`` now, and so may be shut out."""
    evidence = context.evidence
    if resource == CLUSTER:
        yield "brokers replicate, and tools administer, by the Cluster resource"
        if context.own.principal not in {acl.principal for acl in context.decisions.changed_on(resource)}:
            yield "this stack connects as one that no ACL names: it keeps its access only as a super user"
        return
    groups = [
        f"group {group.name} ({group_state(group, evidence.lag.get(group.name))})"
        for group in evidence.groups_of.get(resource, ())
        if group.in_use
    ]
    producers = evidence.producers.get(resource.name) if resource.type is ResourceType.TOPIC else None
    writing = set(producers.last_written) if producers else set()
    transactions = [f"transactional id {each.name}" for each in evidence.transactions_of.get(resource, ())]
    others = len(writing - evidence.transactional_producers)
    users = [*groups, *transactions, *([f"{others} other producer{'' if others == 1 else 's'}"] if others else [])]
    yield f"it is used now by {shorten(users)}" if users else "no visible client uses it now"
    hidden = [evidence.groups_missing] if resource.type in (ResourceType.TOPIC, ResourceType.GROUP) else []
    hidden += [evidence.transactions_missing] if resource.type is ResourceType.TRANSACTIONAL_ID else []
    hidden += [f"producers: {producers.missing}"] if producers and producers.missing else []
    yield from (f"there may be others: {reason}" for reason in hidden if reason)
