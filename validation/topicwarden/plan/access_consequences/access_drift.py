"""``access-drift``: access was changed by hand after the last deploy. A deploy leaves it until a refresh."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.scram_user.change import row_name, written_by_others
from topicwarden.model.message_text import counted, first_lines
from topicwarden.model.planned_change import AccessKind, Action, Consequence, Severity
from topicwarden.plan.access_change import ACCESS_PARTS
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "access-drift"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "somebody changed access by hand",
        (),
        "a note; it stays until `topicwarden up --refresh`",
    ),
)
_MOST = 5


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one note for each kind of access that differs from the YAML and from Pulumi's state."""
    dangers = {row_name(key) for key in written_by_others(context.change)}  # see ``credential-replaced``
    for part in ACCESS_PARTS:
        drifted = [
            item
            for item in context.change.rows[part.name]
            if item.action is Action.DRIFT and not (part.kind is AccessKind.SCRAM_USER and item.name in dangers)
        ]
        if not drifted:
            continue
        names = [
            f"{item.name}: {item.before} in place of {item.after}" if item.before else item.name for item in drifted
        ]
        gone = all(item.before is None for item in drifted)
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"{counted(len(drifted), 'change')} of {part.plural} by hand"
            + (": the cluster lacks what the YAML declares" if gone else ""),
            because=first_lines(names, _MOST),
            measured="the cluster, Pulumi's state and the YAML",
            remedy="run `topicwarden up --refresh`, which deploys the YAML again; or change the YAML",
            location=drifted[0].location,
        )
