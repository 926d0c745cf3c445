"""The Schema Registry of a stack, as the Java reader gets it."""

from __future__ import annotations

from topicwarden.kafka.connection import settings_file, stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.broker_settings import SCHEMA_REGISTRY
from topicwarden.specs.registry_settings import RegistrySettings, read_registry_settings


def registry_of(project: Project, stack: str) -> RegistrySettings | None:
    """Return the registry of ``stack``; None if no registry is set. Refuse invalid settings."""
    value = stack_settings(project, stack).get(SCHEMA_REGISTRY)
    if value is None:
        return None
    registry, problems = read_registry_settings(value, project.root)
    if problems:
        names = ((f"{SCHEMA_REGISTRY}.{name}" if name else SCHEMA_REGISTRY, message) for name, message in problems)
        raise Refusal("\n".join(f"{settings_file(stack)}: {name}: {message}" for name, message in names))
    return registry


def for_java(registry: RegistrySettings) -> dict[str, str]:
    """Return the settings of ``SchemaRegistryClient.java``; those for TLS have Kafka's names."""
    trusted, certificate, key = (
        registry.certificates.ca_cert,
        registry.certificates.client_cert,
        registry.certificates.client_key,
    )
    settings = {
        "url": registry.url,
        "username": registry.username,
        "password": registry.password,
        "token": registry.token,
        "ssl.truststore.type": "PEM" if trusted else None,
        "ssl.truststore.certificates": trusted,
        "ssl.keystore.type": "PEM" if key else None,
        "ssl.keystore.certificate.chain": certificate,
        "ssl.keystore.key": key,
    }
    return {name: value for name, value in settings.items() if value is not None}
