"""``access-unseen``: access would change, but the cluster does not show what it is now.

Without the ACLs of the cluster, nobody can tell who loses access. So no change of them is deployed.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import AccessItem, AccessKind, Action, Consequence, Severity
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import unjudged

KIND = "access-unseen"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "access changes, and the brokers do not report it, or have no authorizer",
        (),
        "nobody can tell who loses access; refused",
    ),
)


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one refusal for each kind of access that changes although the brokers do not report it."""
    live = context.change.live
    for part in ACCESS_PARTS:
        changing = [item for item in context.change.rows[part.name] if item.action is not Action.DRIFT]
        missing = live.missing.get(part.name, "the brokers do not report them")
        of_acls = part.kind is AccessKind.ACL
        if changing and (live.part(part.name) is None or part.name in live.missing):
            yield _refused(part.plural, changing, missing, no_authorizer=of_acls and live.security_disabled)
        elif of_acls and changing and live.unknown_acls:
            yield Consequence(
                kind=KIND,
                severity=Severity.DANGER,
                message=f"the cluster has {counted(live.unknown_acls, 'ACL')} of a type that this version does not "
                "know: they are not part of the decisions of this plan",
                measured="DescribeAcls",
                remedy="use a newer version of topicwarden",
            )


def _refused(plural: str, changing: list[AccessItem], missing: str, *, no_authorizer: bool) -> Consequence:
    if no_authorizer:
        remedy = "set authorizer.class.name on the brokers, or remove the declared access"
    elif "lacks" in missing:
        remedy = "grant the missing permission, and plan again"
    else:
        remedy = "remove the declared access, or plan again when the brokers report it"
    changes = [(f"{item.action.value} {item.name}", item.location) for item in changing]
    return unjudged(KIND, plural, changes, missing, remedy)
