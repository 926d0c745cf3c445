"""The Schema Registry of a stack, as the Java reader gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topicwarden.kafka.connect.connection import certificates_for_java
from topicwarden.kafka.connect.stack_connection import settings_file, stack_settings, written_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.sandbox_folder import REGISTRY_FILE, refuse_copy, refuse_link
from topicwarden.specs.stacks.registry_settings import SANDBOX, RegistrySettings, read_registry_settings
from topicwarden.specs.stacks.stack_settings import SCHEMA_REGISTRY


def registry_of(project: Project, stack: str, variables: Mapping[str, str] | None = None) -> RegistrySettings | None:
    """Return the registry of ``stack``; None if no registry is set. Refuse invalid settings.

    ``variables`` are added to the environment of ``pulumi``, which decrypts the settings.
    """
    value = stack_settings(project, stack, variables).get(SCHEMA_REGISTRY)
    return None if value is None else registry_from(value, project, stack)


def registry_from(value: Any, project: Project, stack: str) -> RegistrySettings:
    """Return the registry in ``value``, the setting of ``stack`` with its secrets decrypted. Refuse invalid ones."""
    return registry_with(value, project, settings_file(stack))


def registry_with(value: Any, project: Project, origin: str) -> RegistrySettings:
    """Return the registry in ``value``, with its secrets decrypted; ``origin`` says in messages where it comes from."""
    registry, problems = read_registry_settings(value, project.root)
    if problems:
        names = (
            (f"{SCHEMA_REGISTRY}.{each.name}" if each.name else SCHEMA_REGISTRY, each.message) for each in problems
        )
        raise Refusal("\n".join(f"{origin}: {name}: {message}" for name, message in names))
    return replace(registry, url=_sandbox_url(project)) if registry.url == SANDBOX else registry


def on_sandbox_registry(project: Project, stack: str) -> bool:
    """Return whether ``stack`` uses the registry of the sandbox. Decrypts nothing; False if settings are unreadable."""
    try:
        value = written_settings(project, stack).get(SCHEMA_REGISTRY)
    except Refusal:
        return False
    registry, problems = read_registry_settings(value, project.root, offline=True)
    return not problems and registry.url == SANDBOX


def _sandbox_url(project: Project) -> str:
    """Return the URL of the sandbox's registry. Refuse a registry that was never started."""
    folder = project.cache / "sandbox"
    refuse_link(folder)
    refuse_copy(folder)
    try:
        return (folder / REGISTRY_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        raise Refusal("the sandbox has no Schema Registry: run `topicwarden sandbox up`, which starts it") from None


def for_java(registry: RegistrySettings) -> dict[str, str]:
    """Return the settings of ``SchemaRegistryClient.java``; those for TLS have Kafka's names."""
    access = {"username": registry.username, "password": registry.password, "token": registry.token}
    declared = {name: value for name, value in access.items() if value is not None}
    return {"url": registry.url, **declared, **certificates_for_java(registry.certificates)}
