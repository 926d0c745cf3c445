"""``incompatible``: the new schema breaks the compatibility level of its subject.

The registry decides, with its own rules, if the level that applies is the one that it has now. If the deploy changes
the level, or registers a schema that the new one refers to, the same rules are applied here (``record_schemas``): a
registry compares only by its present level, and only with references that it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.kinds.subject.change import SubjectChange
from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.change_guard import ChangeGuard

KIND = "incompatible"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "a new schema is not compatible by the level that will apply",
        (),
        "the registry's own verdict; that of Apicurio's checkers for a level or a reference that the deploy changes; "
        "refused",
    ),
)


_HINTS: Final = {
    "avro": ", such as with a default for a new field",
    "json": ": by BACKWARD, all that the earlier version accepts must stay valid, and without `additionalProperties: "
    "false` it accepts any value of a new property; by FORWARD, the reverse",
}


def _hint(change: SubjectChange) -> str:
    return _HINTS.get(change.schema.format, "") if change.schema else ""


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return a refusal with the reasons; a note if nobody could decide."""
    change, verdict = context.change, context.evidence.verdicts.get(context.change.name)
    if verdict is None or change.declared is None:
        return
    level = change.declared.compatibility or context.registry.level(change)
    applies = f" ({level})" if level else ""
    location = change.declared.location_of("schema")
    if verdict.error is not None:
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"nobody has judged whether the new schema is compatible{applies}: {verdict.error}",
            measured="nothing: the registry judges it when it is registered, after the level is set",
            location=location,
        )
    elif verdict.reasons:
        compared = verdict.subject or change.live
        latest = compared.latest if compared else None
        replaced = compared is not None and compared.name != change.name
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED,
            message="the new schema is not compatible with "
            + (f"version {latest.version}" if latest else "the registered versions")
            + (f" of {compared.name}, which readers use until now," if compared and replaced else "")
            + f" by the level of the subject{applies}",
            because=list(verdict.reasons),
            measured=verdict.judge,
            remedy=f"make the schema compatible{_hint(change)}; or declare another `compatibility`, if every reader "
            "and writer can handle it",
            location=location,
        )
