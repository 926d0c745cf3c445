"""``delete-subject``: a subject is no longer declared.

The deploy soft-deletes it if its YAML allowed that at the last deploy. Otherwise it stays in the registry, and only
Pulumi's state loses it. Nothing is ever deleted permanently: ids that records carry can still be resolved.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.message_text import counted, first_lines
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.change_guard import ChangeGuard

KIND = "delete-subject"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "the YAML of a subject is removed",
        (AllowedChange.DELETE_SUBJECT,),
        "soft-deleted if the YAML of the last deploy had the word; else it stays, and only leaves Pulumi's state",
    ),
    ChangeGuard(
        "the YAML of a subject is removed, and other subjects refer to it",
        (),
        "the registry would refuse the deletion; refused",
    ),
)
_MOST = 5


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return a note if the subject stays, a danger if it is deleted, and a refusal if others refer to it."""
    change = context.change
    if change.action is Action.RELEASE:
        if change.latest is None and context.judged:
            return
        yield Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message="no YAML declares the subject any more: it stays in the registry, and leaves Pulumi's state",
            measured="Pulumi's state, and what the YAML allowed at the last deploy",
            remedy=f"to delete it, declare it again with {AllowedChange.DELETE_SUBJECT.line}, deploy, and remove "
            "it then",
        )
    elif change.action is Action.DELETE and context.judged:
        yield from _deleted(context)


def _deleted(context: SubjectContext) -> Iterable[Consequence]:
    referrers = context.evidence.referrers.get(context.change.name, ())
    remaining = [name for name in referrers if not _deletes(context, name)]
    if remaining:
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED,
            message=f"{counted(len(remaining), 'subject')} {'refers' if len(remaining) == 1 else 'refer'} to this one, "
            "so the registry does not delete it (error 42206)",
            because=first_lines(remaining, _MOST),
            measured="the references that the registry reports",
            remedy="remove the references first, or declare the subject again",
        )
        return
    latest = context.change.latest
    yield Consequence(
        kind=KIND,
        severity=Severity.DANGER,
        message="the subject is soft-deleted"
        + (f", with its versions up to {latest.version}" if latest else "")
        + (", unless the registry counts deleted subjects that refer to it" if referrers else "")
        + ": clients that look up its schema by subject fail, and records can still be read by their ids",
        because=[
            f"the same deploy deletes what refers to it: {', '.join(referrers[:_MOST])}"
            + (", …" if len(referrers) > _MOST else ""),
            "Apicurio counts deleted subjects: there this one stays, and only leaves Pulumi's state",
        ]
        if referrers
        else [],
        measured="the latest version of the subject in the registry",
        remedy="delete it only when nobody writes with it any more",
        evidence={"latest": latest.version if latest else None},
    )


def _deletes(context: SubjectContext, name: str) -> bool:
    change = context.registry.changes.get(name)
    return change is not None and change.action is Action.DELETE
