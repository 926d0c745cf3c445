"""``access-outside-scope``: an ACL in Pulumi's state is not declared any more, and is outside of the stack's scope.

It belongs to another team now, so this stack does not delete it.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.access import ACLS
from topicwarden.model.message_text import counted, first_lines
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "access-outside-scope"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "an ACL of the stack is removed from the YAML, and is outside of the stack's scope",
        (),
        "it belongs to another team; refused",
    ),
)
_MOST = 5


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one refusal for all ACLs that the deploy would delete outside of the scope."""
    outside = sorted(
        acl
        for acl, action in context.change.of(ACLS).items()
        if action is Action.DELETE and not context.scope.owns_acl(acl)
    )
    if outside:
        parts = sorted({part for acl in outside if (part := context.scope.foreign_part(acl)) is not None})
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED,
            message=f"{counted(len(outside), 'ACL')} of Pulumi's state would be deleted outside of the stack's scope "
            f"({'; '.join(parts)})",
            because=first_lines([f"`{acl}`" for acl in outside], _MOST),
            measured="Pulumi's state, and topicwarden:scope of the stack",
            remedy="release it from the stack with `pulumi state delete`, or widen topicwarden:scope",
        )
