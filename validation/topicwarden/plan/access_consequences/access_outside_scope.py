"""``access-outside-scope``: access in Pulumi's state is not declared any more, and is outside of the stack's scope.

It belongs to another team now, so this stack does not delete it.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.access_converter import converters
from topicwarden.model.access import ACLS
from topicwarden.model.message_text import first_lines
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "access-outside-scope"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "access of the stack is removed from the YAML, and is outside of the stack's scope",
        (),
        "it belongs to another team; refused",
    ),
)
_MOST = 5


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one refusal for all entries of a kind that the deploy would delete outside of the scope."""
    for kind in converters():
        deleted = (key for key, action in context.change.of(kind.part).items() if action is Action.DELETE)
        outside = {key: reason for key in deleted if (reason := kind.outside(key, context.scope))}
        if outside:
            titles = sorted({f"`{key}`" if kind.part == ACLS else kind.title(key) for key in outside})
            yield Consequence(
                kind=KIND,
                severity=Severity.REFUSED,
                message=f"Pulumi would delete {kind.plural} of its state that are outside of the stack's scope "
                f"({'; '.join(sorted({*outside.values()}))})",
                because=first_lines(titles, _MOST),
                measured="Pulumi's state, and topicwarden:scope of the stack",
                remedy="`pulumi state delete --force URN` removes each of them from the state and changes nothing on "
                "the cluster (`pulumi stack --show-urns` lists the URNs); to keep them in this stack, widen "
                "topicwarden:scope and restore their YAML",
            )
