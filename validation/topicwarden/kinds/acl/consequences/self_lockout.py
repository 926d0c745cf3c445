"""``self-lockout``: the principal that deploys and audits, or that replicates between brokers, loses what it needs.

No word allows it: the stack could not be deployed any more, not even to repair it. The principal follows from the
connection of the stack. Brokers do not show their own principals; each one with ClusterAction counts as a broker's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import CLUSTER, Acl, Operation, Resource, ResourceType
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext, acl_reasons
from topicwarden.plan.access_effects import EVERYONE_ELSE, principal_name, resource_text
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten

KIND = "self-lockout"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "the principal of the stack loses what topicwarden needs, or a principal loses ClusterAction",
        (),
        "the stack could not be repaired, or brokers could not replicate; refused",
    ),
)

NEEDED: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.DESCRIBE,),
}
"""What the commands need, except for settings of groups; see ``operations/doctor/command_permissions.py``."""

GROUP_SETTINGS: Final = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
"""What the commands need as well on a group whose settings the stack declares."""


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return what this user and the brokers lose."""
    yield from _credential(context)
    yield from _brokers(context)
    own = context.own.principal
    if own is None:
        yield from _could_be(context)
    elif not _is_super_user(context, own):
        yield from _own(context, own)


def _is_super_user(context: AccessContext, own: str) -> bool:
    """Return whether this user may do more than the ACLs say, or has another principal than the connection tells.

    The ACLs were read, which needs Describe on the Cluster resource.
    """
    hosts = context.decisions.hosts(CLUSTER)
    return not any(
        outcome.before.allowed
        for host in hosts
        for outcome in context.decisions.outcomes(own, Operation.DESCRIBE, CLUSTER, host)
    )


def _own(context: AccessContext, own: str) -> Iterator[Consequence]:
    topics = sorted(context.topics.owners)
    settings = context.change.declared.part(GROUP_CONFIGS)
    groups = sorted({*context.evidence.known.get(ResourceType.GROUP, ()), *settings})
    resources = [
        CLUSTER,
        *(Resource(ResourceType.TOPIC, name) for name in topics),
        *(Resource(ResourceType.GROUP, name) for name in groups),
    ]
    lost: dict[str, None] = {}
    acls: set[Acl] = set()
    decisions = context.decisions
    for resource in resources:
        if not (changed := decisions.changed_on(resource)):
            continue
        if decisions.first_acl(resource) and not context.change.open_without_acl_known:
            continue  # this user may as well be a super user: ``first-acl`` reports it
        declares = resource.type is ResourceType.GROUP and resource.name in settings
        for operation in (*NEEDED[resource.type], *(GROUP_SETTINGS if declares else ())):
            if any(
                outcome.lost
                for host in decisions.hosts(resource)
                for outcome in decisions.outcomes(own, operation, resource, host)
            ):
                lost[f"{operation} on {resource_text(resource)}"] = None
                acls |= {*changed}
    if lost:
        yield _refused(
            context,
            acls,
            f"{own}, as which this stack connects, loses {shorten([*lost])}",
            "topicwarden could no longer plan, deploy or audit the stack",
            f"keep the access of {own}",
        )


def _brokers(context: AccessContext) -> Iterator[Consequence]:
    """Yield the loss of ClusterAction, by which brokers replicate and coordinate."""
    lost = [
        effect
        for effect in context.effects
        if effect.operation is Operation.CLUSTER_ACTION and not effect.gained and effect.resource == CLUSTER
    ]
    acls = context.responsible(lost)
    first = context.decisions.first_acl(CLUSTER)
    if not first and (named := sorted({effect.principal for effect in lost} - {EVERYONE_ELSE})):
        yield _refused(
            context,
            acls,
            f"{shorten(named)} loses ClusterAction on Cluster, by which brokers replicate",
            "the partitions of these brokers would go out of sync, unless their principal is a super user",
            "make the principal of the brokers a super user (super.users), and delete the ACL with Kafka's own tools",
        )
    users = [each.super_users for each in (context.change.live.settings or {}).values()]
    if any(effect.principal == EVERYONE_ELSE for effect in lost) and any(each == frozenset() for each in users):
        yield _refused(
            context,
            acls,
            "brokers lose ClusterAction on Cluster, by which they replicate",
            "the cluster has no super users, and no ACL allows it to the principal of the brokers",
            "set super.users to the principal of the brokers, and restart them",
        )


def _could_be(context: AccessContext) -> Iterator[Consequence]:
    """Yield what any principal loses that the stack may connect as."""
    lost = [
        effect
        for effect in context.effects
        if not effect.gained and effect.resource == CLUSTER and effect.operation in NEEDED[ResourceType.CLUSTER]
    ]
    for principal in sorted({effect.principal for effect in lost}):
        own = [effect for effect in lost if effect.principal == principal]
        acls = context.responsible(own)
        yield Consequence(
            kind=KIND,
            severity=context.severity(AllowedChange.REVOKE_ACCESS, acls),
            message=f"{principal_name(principal)} loses {shorten([effect.text for effect in own])}: this stack may "
            "connect as it",
            because=[
                f"the principal of this stack is not known: {context.own.unknown}",
                *acl_reasons(context, acls),
            ],
            measured=_MEASURED,
            remedy=context.remedy(
                AllowedChange.REVOKE_ACCESS, f"keep the access unless the stack does not connect as {principal}", acls
            ),
            evidence={"principal": principal, "loses": ", ".join(sorted(effect.text for effect in own))},
            location=context.location(acls),
        )


def _credential(context: AccessContext) -> Iterator[Consequence]:
    """Yield the end of the SCRAM credential with which this stack connects."""
    for (user, mechanism), action in sorted(context.change.of(USERS).items()):
        own = context.own.principal == f"User:{user}" and context.own.mechanism == mechanism
        if own and action is Action.DELETE and (user, mechanism) in (context.change.live.part(USERS) or {}):
            yield Consequence(
                kind=KIND,
                severity=Severity.REFUSED,
                message=f"the credential of {user} for {mechanism} is deleted, with which this stack connects",
                because=["topicwarden could no longer connect"],
                measured=_MEASURED,
                remedy="declare the user again, or connect as another user",
            )


def _refused(context: AccessContext, acls: Iterable[Acl], message: str, because: str, remedy: str) -> Consequence:
    acls = sorted(acls)
    return Consequence(
        kind=KIND,
        severity=Severity.REFUSED,
        message=message,
        because=[because, *acl_reasons(context, acls)],
        measured=_MEASURED,
        remedy=f"{remedy}; no entry of `allow` changes that",
        location=context.location(acls),
    )


_MEASURED = "the ACLs of the cluster, and the connection of the stack; its address counts as any"
