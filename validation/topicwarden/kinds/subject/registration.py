"""The properties with which a deploy registers subjects, and the versions that their references get.

A subject depends on the subjects that it refers to, so Pulumi deletes it before them. A reference without a version
gets the version that the referenced subject has once it is registered. In a preview, a new version is not known yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from topicwarden.kinds.properties import UNKNOWN, Properties
from topicwarden.kinds.subject.change import RegistryChange
from topicwarden.kinds.subject.resource import subject_properties
from topicwarden.model.subject import DeclaredSubject, SchemaReference


@dataclass(frozen=True)
class SubjectRegistration:
    """The declared subjects of a stack, and how they are registered with the engine.

    ``undeployed`` are the subjects that this deploy cannot
    write, with the reason.
    """

    change: RegistryChange
    undeployed: Mapping[str, str]

    def without_topics(self, missing: Callable[[str], bool]) -> Mapping[str, str]:
        """Return ``undeployed`` with the subjects of topics that are ``missing``: their deploy has failed."""
        failed = {
            subject.name: f"topic {use.topic}, whose {use.part}s have this schema, was not deployed"
            for subject in self.change.declared.subjects.values()
            for use in subject.uses
            if missing(use.topic)
        }
        return {**failed, **self.undeployed}

    def properties(self, subject: DeclaredSubject, versions: Mapping[str, Any]) -> tuple[Properties, list[str]]:
        """Return the properties of the resource of ``subject``, and the declared subjects that it refers to, sorted.

        ``versions`` are those of the subjects before it, as the engine reports them.
        """
        declared = self.change.declared.subjects
        schema, deployed = self.change.schemas[subject.name], self.change.deployed.get(subject.name)
        planned = self.change.changes.get(subject.name)
        references = [
            replace(each, version=_registered_version(each, versions))
            if written.version is None and written.subject in declared
            else each
            for each, written in zip(schema.references, subject.schema.references, strict=True)
        ]
        properties = subject_properties(
            subject,
            replace(schema, references=tuple(references)),
            deployed,
            reverted=planned is not None and planned.reverted and not planned.edited,
        )
        for number, each in enumerate(references):
            if each.version is None:
                properties["references"][number]["version"] = UNKNOWN
        return properties, sorted({each.subject for each in references} & declared.keys())


def _registered_version(reference: SchemaReference, versions: Mapping[str, Any]) -> int | None:
    """Return the version of a referenced subject as registered; as planned if the engine does not report one."""
    registered = versions.get(reference.subject)
    if registered == UNKNOWN:
        return None
    return int(registered) if isinstance(registered, float) else reference.version
