"""``access-drift``: access was changed by hand after the last deploy. A deploy leaves it until a refresh.

A value that nobody declared, of an entry that is declared, such as another rate of the same client, stays even then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from topicwarden.kinds.difference import NOT_DECLARED, AccessPart, settings_text
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
        "a note; it stays until `topicwarden up --refresh`; a value that nobody declared, beside declared ones, stays",
    ),
)
_MOST = 5


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return notes for each kind of access that differs from the YAML and from Pulumi's state."""
    dangers = {row_name(key) for key in written_by_others(context.change)}  # see ``credential-replaced``
    for part in ACCESS_PARTS:
        yield from _not_declared(context, part)
        drifted = [
            item
            for item in context.change.rows[part.name]
            if item.action is Action.DRIFT and not (part.kind is AccessKind.SCRAM_USER and item.name in dangers)
        ]
        if not drifted:
            continue
        first = drifted[0].location
        names = [
            (f"{item.name}: {item.before} in place of {item.after}" if item.before else item.name)
            + (f" ({item.location})" if item.location and first and item.location.file != first.file else "")
            for item in drifted
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
            location=first,
        )


def _not_declared(context: AccessContext, part: AccessPart[Any, Any]) -> Iterator[Consequence]:
    """Yield one note for the values that nobody declared, of entries that are declared."""
    change = context.change
    live, deployed = change.live.part(part.name) or {}, change.deployed.part(part.name)
    found: dict[Any, Mapping[str, str | float]] = {}
    for key, declared in change.declared.part(part.name).items():
        if isinstance(values := live.get(key), Mapping):
            known = {*declared, *deployed.get(key, ())}
            others = {name: value for name, value in values.items() if name not in known and value not in ("", None)}
            found |= {key: others} if others else {}
    if found:
        number = sum(map(len, found.values()))
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"{counted(number, 'undeclared value')} beside declared {part.plural}, which each deploy leaves",
            because=first_lines(
                [f"{part.title(key)}: {settings_text(values)}" for key, values in found.items()], _MOST
            ),
            measured="the cluster, Pulumi's state and the YAML",
            remedy=NOT_DECLARED,
            location=change.declared.location(part.name, next(iter(found))),
        )
