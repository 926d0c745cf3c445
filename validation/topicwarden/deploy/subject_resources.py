"""Subjects as Pulumi resources: after the topics, and each one after those that it refers to.

A subject depends on the subjects that it refers to, so Pulumi deletes it before them. A reference without a version
gets the version that the referenced subject has once it is registered. In a preview, a new version is not known yet.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.lean_registration import LeanResource, known_output, prepare, register
from topicwarden.kinds.properties import UNKNOWN
from topicwarden.kinds.subject.change import RegistryChange, waves
from topicwarden.kinds.subject.resource import (
    PREPARE_SUBJECTS,
    RESOURCE,
    SUBJECT_SET_TYPE,
    SUBJECT_TYPE,
    subject_properties,
)
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


class SubjectResources(pulumi.ComponentResource):
    """The subjects of a stack, each with the name of its subject.

    No subject is registered before ``topics`` is done, which has the topics by name, without those that failed.
    """

    done: pulumi.Output[None]
    """Known when the engine has registered everything."""

    def __init__(
        self,
        name: str,
        registration: SubjectRegistration,
        *,
        topics: Awaitable[Mapping[str, Any] | None],
        root: Path,
        provider: kafka.Provider | None = None,
    ) -> None:
        super().__init__(SUBJECT_SET_TYPE, name)
        self._registration, self._topics, self._root, self._kafka = registration, topics, root, provider
        self._versions: dict[str, Any] = {}
        self.done = known_output(self._registered())
        self.register_outputs({})

    async def _registered(self) -> None:
        deployed = frozenset(await self._topics or ())
        undeployed = self._registration.without_topics(lambda topic: topic not in deployed)
        # The provider reads the registry's settings, with secrets, itself.
        await prepare(PREPARE_SUBJECTS, dict(undeployed), self._kafka)
        prefix = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
        for wave in waves(self._registration.change.declared):
            outputs = await register([self._resource(each, prefix) for each in wave], self._kafka, self._root)
            for subject, values in zip(wave, outputs, strict=True):
                self._versions[subject.name] = values.get("version")

    def _resource(self, subject: DeclaredSubject, prefix: str) -> LeanResource:
        change = self._registration.change
        schema, deployed = change.schemas[subject.name], change.deployed.get(subject.name)
        planned = change.changes.get(subject.name)
        open_references = {
            number
            for number, each in enumerate(subject.schema.references)
            if each.version is None and each.subject in change.declared.subjects
        }
        references = [
            replace(each, version=self._registered_version(each)) if number in open_references else each
            for number, each in enumerate(schema.references)
        ]
        known = replace(schema, references=tuple(references))
        properties = subject_properties(
            subject, known, deployed, reverted=planned is not None and planned.reverted and not planned.edited
        )
        for number, each in enumerate(references):
            if each.version is None:
                properties["references"][number]["version"] = UNKNOWN
        referenced = sorted({each.subject for each in references} & change.declared.subjects.keys())
        return LeanResource(
            SUBJECT_TYPE,
            subject.name,
            self,
            properties,
            subject.location,
            dependencies=[RESOURCE.urn(prefix, name) for name in referenced],
        )

    def _registered_version(self, reference: SchemaReference) -> int | None:
        """Return the version of a referenced subject as registered; as planned if the engine does not report one."""
        registered = self._versions.get(reference.subject)
        if registered == UNKNOWN:
            return None
        return int(registered) if isinstance(registered, float) else reference.version
