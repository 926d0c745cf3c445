"""Subjects as Pulumi resources: after the topics, and each one after those that it refers to."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.lean_registration import LeanResource, known_output, prepare, register
from topicwarden.kinds.subject.change import waves
from topicwarden.kinds.subject.registration import SubjectRegistration
from topicwarden.kinds.subject.resource import PREPARE_SUBJECTS, RESOURCE, SUBJECT_SET_TYPE
from topicwarden.model.subject import DeclaredSubject


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
        properties, referenced = self._registration.properties(subject, self._versions)
        return LeanResource(
            RESOURCE.type(subject.name),
            RESOURCE.name(subject.name),
            self,
            properties,
            subject.location,
            dependencies=[RESOURCE.urn(prefix, name) for name in referenced],
        )
