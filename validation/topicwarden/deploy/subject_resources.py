"""Subjects as Pulumi resources: after the topics, and each one after those that it refers to.

A subject depends on the subjects that it refers to, so Pulumi deletes it before them. A reference without a version
gets the version that the referenced subject has once it is registered. In a preview, a new version is not known yet.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.lean_registration import LeanResource, known_output, prepare, register
from topicwarden.kinds.properties import UNKNOWN
from topicwarden.kinds.subject.before import SubjectsBefore
from topicwarden.kinds.subject.change import waves
from topicwarden.kinds.subject.resource import PREPARE_SUBJECTS, RESOURCE, SUBJECT_SET_TYPE, subject_properties
from topicwarden.model.subject import DeclaredSubject, DeclaredSubjects, SchemaReference


class SubjectResources(pulumi.ComponentResource):
    """The subjects of a stack, each with the name of its subject.

    No subject is registered before ``topics`` is done, which has the topics by name, without those that failed.
    """

    done: pulumi.Output[None]
    """Known when the engine has registered everything."""

    def __init__(
        self,
        name: str,
        subjects: SubjectsBefore,
        *,
        topics: Awaitable[Mapping[str, Any] | None],
        root: Path,
        provider: kafka.Provider | None = None,
    ) -> None:
        super().__init__(SUBJECT_SET_TYPE, name)
        self._change, self._undeployed = subjects.change, subjects.prediction.undeployed if subjects.prediction else {}
        self._topics, self._root, self._kafka = topics, root, provider
        self._versions: dict[str, Any] = {}
        """The versions of the registered subjects, as the engine reports them."""
        self.done = known_output(self._registered())
        self.register_outputs({})

    async def _registered(self) -> None:
        failed = _of_missing_topics(self._change.declared, await self._topics or ())
        # The provider reads the registry's settings, with secrets, itself.
        await prepare(PREPARE_SUBJECTS, {**failed, **self._undeployed}, self._kafka)
        prefix = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
        for wave in waves(self._change.declared):
            registered = await register([self._resource(each, prefix) for each in wave], self._kafka, self._root)
            for subject, each in zip(wave, registered, strict=True):
                self._versions[subject.name] = each.outputs.get("version")

    def _resource(self, subject: DeclaredSubject, prefix: str) -> LeanResource:
        declared = self._change.declared.subjects
        schema, deployed = self._change.schemas[subject.name], self._change.deployed.get(subject.name)
        planned = self._change.changes.get(subject.name)
        references = [
            replace(each, version=_registered_version(each, self._versions))
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
        return LeanResource(
            RESOURCE.type(subject.name),
            RESOURCE.name(subject.name),
            self,
            properties,
            subject.location,
            dependencies=[
                RESOURCE.urn(prefix, name) for name in sorted({each.subject for each in references} & declared.keys())
            ],
        )


def _of_missing_topics(declared: DeclaredSubjects, deployed: Collection[str]) -> dict[str, str]:
    """Return the subjects of topics that are not ``deployed``, because their deploy has failed, with the reason."""
    return {
        subject.name: f"topic {use.topic}, whose {use.part}s have this schema, was not deployed"
        for subject in declared.subjects.values()
        for use in subject.uses
        if use.topic not in deployed
    }


def _registered_version(reference: SchemaReference, versions: Mapping[str, Any]) -> int | None:
    """Return the version of a referenced subject as registered; as planned if the engine does not report one."""
    registered = versions.get(reference.subject)
    if registered == UNKNOWN:
        return None
    return int(registered) if isinstance(registered, float) else reference.version
