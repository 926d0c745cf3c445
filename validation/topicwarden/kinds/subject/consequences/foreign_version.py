"""``foreign-version``: the latest version of the subject is another one than this stack has declared and deployed.

A registry returns the version that exists for a schema that it has already. So an older schema never gets the latest
version again by a deploy.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kafka.registry.same_schema import same
from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.change_guard import ChangeGuard

KIND = "foreign-version"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "the YAML goes back to a schema that is registered and not the latest",
        (),
        "a registry returns the version that exists, so the other one stays the latest; refused",
    ),
    ChangeGuard(
        "somebody else has registered a newer version",
        (),
        "a danger: the declared schema is not the latest, or becomes the next one without that change",
    ),
)


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return a refusal if the YAML newly declares an older version, and a danger for a version of somebody else."""
    change = context.change
    if change.declared is None or change.latest is None:
        return
    latest, declared, deployed = change.latest, change.declared, change.deployed
    location = declared.location_of("schema")
    if change.unreachable and change.existing is not None:
        older = change.existing.version
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED if change.edited else Severity.DANGER,
            message=f"version {latest.version} is the latest, and {declared.file} is version {older}: the registry "
            f"returns version {older} for this schema and changes nothing: version {latest.version} stays the latest",
            because=[
                "clients with `use.latest.version` use the latest version; others find the declared one by its id"
            ],
            measured="the latest version of the subject, and a lookup of the declared schema",
            remedy=f"write the schema of version {latest.version} into {declared.file}; or change the declared schema "
            f"(a `doc` is enough), so that it becomes version {latest.version + 1}",
            evidence={"latest": latest.version, "declared": older},
            location=location,
        )
    elif deployed is not None and change.registers and not same(latest.schema, deployed.schema):
        yield Consequence(
            kind=KIND,
            severity=Severity.DANGER,
            message=f"somebody else has registered version {latest.version}, which is the latest: the declared schema "
            "becomes the next one, without what that version has changed",
            measured="the latest version of the subject, and Pulumi's state",
            remedy=f"compare {declared.file} with version {latest.version}, and take over what is still needed",
            evidence={"latest": latest.version, "deployed": deployed.version},
            location=location,
        )
