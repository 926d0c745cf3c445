"""Subjects as resources of Pulumi: their names and properties, and the subjects that a state has.

A resource has the name of its subject, so that moving a declaration to another file changes nothing. The type is our
provider's own. A state has the text of each schema, which is no secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from topicwarden.deploy.access_state import allowances, recorded_allowances
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Location
from topicwarden.model.subject import (
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    RegisteredSchema,
    SchemaReference,
)
from topicwarden.model.topic import AllowedChange
from topicwarden.registry.same_schema import same

SUBJECT_SET_TYPE: Final = "topicwarden:index:SubjectSet"
SUBJECT_TYPE: Final = "kafka:index/subject:Subject"
PREPARE_SUBJECTS: Final = "kafka:index:prepareSubjects"
"""The function of the provider that takes the subjects that no deploy may write now."""

Properties: TypeAlias = Mapping[str, Any]


def subject_properties(
    subject: DeclaredSubject, schema: RegisteredSchema, deployed: DeployedSubject | None, *, reverted: bool = False
) -> dict[str, Any]:
    """Return the properties of the resource of ``subject``, whose ``schema`` has the versions of its references.

    An equal schema keeps the text that the state has, so that its spelling changes nothing. ``reverted``: the deploy
    writes although the declaration is the one that was deployed, so a property must change for the engine to notice.
    """
    text = deployed.schema.text if deployed and same(deployed.schema, schema) else schema.text
    allow = [each for each in subject.allow if each.change is AllowedChange.DELETE_SUBJECT]
    properties = {
        "subject": subject.name,
        "format": schema.format,
        "schema": text,
        "references": [reference_properties(each) for each in schema.references],
        "compatibility": subject.compatibility.value if subject.compatibility else None,
        "allow": recorded_allowances(allow),
        "revision": float((deployed.revision if deployed else 0) + reverted),
    }
    return {key: value for key, value in properties.items() if value not in (None, [], 0.0)}


def reference_properties(reference: SchemaReference) -> dict[str, Any]:
    """Return ``reference`` as a property; without its version if that is not known."""
    version = {} if reference.version is None else {"version": float(reference.version)}
    return {"name": reference.name, "subject": reference.subject, **version}


def schema_of(properties: Properties) -> RegisteredSchema:
    """Return the schema of a resource with ``properties``."""
    references = tuple(
        SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"]) if "version" in each else None)
        for each in properties.get("references") or ()
    )
    return RegisteredSchema(str(properties["format"]), str(properties["schema"]), references)


def compatibility_of(properties: Properties) -> Compatibility | None:
    """Return the level that a resource with ``properties`` sets; None if it leaves the level as it is."""
    level = properties.get("compatibility")
    return None if level is None else Compatibility(level)


def subject_of(properties: Properties) -> DeployedSubject:
    """Return the subject of a resource with ``properties``."""
    return DeployedSubject(
        str(properties["subject"]),
        schema_of(properties),
        compatibility_of(properties),
        _number(properties.get("version")),
        _number(properties.get("schemaId")),
        allowances(properties.get("allow") or ()),
        _number(properties.get("revision")) or 0,
    )


def deployed_subjects(resources: Iterable[Mapping[str, Any]]) -> dict[str, DeployedSubject]:
    """Return the subjects in ``resources``, which have the format of `pulumi stack export`.

    Resources that another program, or `pulumi import`, has registered under a URN of their own are left out.
    """
    found = {}
    for resource in resources:
        if resource["type"] == SUBJECT_TYPE and registered_subject(str(resource["urn"])):
            inputs, outputs = resource.get("inputs") or {}, resource.get("outputs") or {}
            subject = subject_of({**inputs, **{key: outputs[key] for key in ("version", "schemaId") if key in outputs}})
            found[subject.name] = subject
    return found


def registered_subject(urn: str) -> bool:
    """Return whether the program of topicwarden registers the resource with this URN."""
    return f"::{SUBJECT_SET_TYPE}$" in urn


def subject_urn(stack_urn_prefix: str, name: str) -> str:
    """Return the URN of the resource of a subject; ``stack_urn_prefix`` is ``urn:pulumi:<stack>::<project>``."""
    return f"{stack_urn_prefix}::{SUBJECT_SET_TYPE}${SUBJECT_TYPE}::{name}"


def subject_title(properties: Properties) -> str:
    """Return a subject in words, such as ``subject orders-value``."""
    return f"subject {properties['subject']}"


def subject_locations(subjects: DeclaredSubjects) -> dict[str, Location]:
    """Return where each subject is declared, by the key of its resource in messages of the provider."""
    return {location_key(name): subject.location for name, subject in subjects.subjects.items()}


def location_key(name: str) -> str:
    """Return the key of a subject among the locations of all resources: a topic may have the same name."""
    return f"{SUBJECT_TYPE}::{name}"


def _number(value: Any) -> int | None:
    return None if value is None else int(value)
