"""The Schema Registry of a stack, as the Java reader gets it."""

from __future__ import annotations

from topicwarden.kafka.connect.connection import certificates_for_java
from topicwarden.kafka.connect.stack_connection import settings_file, stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.stacks.registry_settings import RegistrySettings, read_registry_settings
from topicwarden.stacks.stack_settings import SCHEMA_REGISTRY


def registry_of(project: Project, stack: str) -> RegistrySettings | None:
    """Return the registry of ``stack``; None if no registry is set. Refuse invalid settings."""
    value = stack_settings(project, stack).get(SCHEMA_REGISTRY)
    if value is None:
        return None
    registry, problems = read_registry_settings(value, project.root)
    if problems:
        names = (
            (f"{SCHEMA_REGISTRY}.{each.name}" if each.name else SCHEMA_REGISTRY, each.message) for each in problems
        )
        raise Refusal("\n".join(f"{settings_file(stack)}: {name}: {message}" for name, message in names))
    return registry


def for_java(registry: RegistrySettings) -> dict[str, str]:
    """Return the settings of ``SchemaRegistryClient.java``; those for TLS have Kafka's names."""
    access = {"username": registry.username, "password": registry.password, "token": registry.token}
    declared = {name: value for name, value in access.items() if value is not None}
    return {"url": registry.url, **declared, **certificates_for_java(registry.certificates)}
