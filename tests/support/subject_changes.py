"""A change of one subject of the Schema Registry, as a plan compares it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from topicwarden.kinds.subject.change import RegistryChange, registry_change
from topicwarden.model.problem import Location
from topicwarden.model.subject import (
    DeclaredSubject,
    DeclaredSubjects,
    DeployedSubject,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SubjectUse,
    SubjectVersion,
)

OLD = RegisteredSchema("avro", '{"type": "record", "name": "R", "fields": []}')
NEW = RegisteredSchema("avro", '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}')


def change(name: str, deployed: Sequence[str], live: Sequence[str]) -> RegistryChange:
    """Return the change of a stack that declares the new schema for the values of ``orders``."""
    location = Location("topics/orders.yaml")
    subject = DeclaredSubject(name, NEW, "a.avsc", location, uses=(SubjectUse("orders", "value"),))
    registry = {each: LiveSubject(each, SubjectVersion(1, 1, OLD)) for each in live}
    return registry_change(
        DeclaredSubjects({name: subject}),
        {each: DeployedSubject(each, OLD) for each in deployed},
        LiveRegistry(registry),
        today=date(2026, 11, 24),
    )
