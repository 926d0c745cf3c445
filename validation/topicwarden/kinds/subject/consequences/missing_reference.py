"""``missing-reference``: the schema refers to a subject that neither the registry nor the deploy has."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.change_guard import ChangeGuard

KIND = "missing-reference"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "the schema refers to a subject that neither the registry nor the YAML has",
        (),
        "the registry would refuse it; refused",
    ),
)


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return one refusal for each reference to a subject without any version."""
    change, registry = context.change, context.registry
    if change.declared is None or context.new_schema is None:
        return
    for reference in context.new_schema.references:
        live = registry.registry.subjects.get(reference.subject)
        known = live is not None and (live.latest is not None or live.error is not None)
        if reference.subject in registry.declared.subjects or known:
            continue
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED,
            message=f"the schema refers to {reference.name} of subject {reference.subject}, which the registry does "
            "not have",
            measured="the versions of the subject in the registry",
            remedy=f"declare {reference.subject} below subjects/, or register it first",
            location=change.declared.location_of("references"),
        )
