"""``lower-compatibility``: the level of a subject gets weaker, so schemas pass that the registry refuses now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.change_guard import ChangeGuard

KIND = "lower-compatibility"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "the compatibility level gets weaker",
        (),
        "a danger: later schemas may break readers",
    ),
)
_BACKWARD: Final = "readers with a new schema need not be able to read records that were written before"
_FORWARD: Final = "readers that still have an older schema need not be able to read new records"
_TRANSITIVE: Final = "new schemas are compared with the latest version only, not with older ones"


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return a danger with what the registry no longer refuses."""
    change = context.change
    if change.declared is None or (change.latest is None and not change.replaces):
        return
    before, after = context.registry.level(change), change.written
    if change.latest is None and not (change.live and change.live.compatibility):
        after = after or context.registry.registry.level(change.live)  # the level of the replaced one does not move
    lost = [] if before is None or after is None else list(_lost(before, after))
    if not lost:
        return
    own = change.live if change.latest else change.replaces[0]
    origin = "" if own and own.compatibility else ", the default of the registry"
    whose = "" if change.latest else f" of {change.replaces[0].name}"
    yield Consequence(
        kind=KIND,
        severity=Severity.DANGER,
        message=f"the level{whose} is {before}{origin}, and will be {after}: later schemas may break readers",
        because=lost,
        measured="the level of the subject in the registry",
        remedy="keep the level, and set another one only for the deploy that needs it",
        location=change.declared.location_of("compatibility"),
    )


def implies(one: Compatibility, other: Compatibility) -> bool:
    """Return whether each schema that is compatible by level ``one`` is so by ``other``, too."""
    return not list(_lost(other, one))


def _lost(before: Compatibility, after: Compatibility) -> Iterable[str]:
    """Yield what the level ``before`` guarantees and ``after`` does not."""
    if before.backward and not after.backward:
        yield _BACKWARD
    if before.forward and not after.forward:
        yield _FORWARD
    kept = (before.backward and after.backward) or (before.forward and after.forward)
    if kept and before.transitive and not after.transitive:
        yield _TRANSITIVE
