"""The Schema Registry of a stack: ``topicwarden:schemaRegistry`` in ``Pulumi.<stack>.yaml``.

The value is a URL, or a mapping of ``url`` and, for HTTP basic authentication, ``username`` and ``password``. Pulumi
encrypts the password::

    pulumi config set --path --secret 'topicwarden:schemaRegistry.password'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topicwarden.kafka.connection import stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.broker_settings import SCHEMA_REGISTRY

_KEYS = ("url", "username", "password")


@dataclass(frozen=True)
class SchemaRegistry:
    """Address and credentials of a registry with Confluent's REST interface. ``repr`` does not show the password."""

    url: str
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.url})"

    def for_java(self) -> dict[str, str]:
        """Return the settings for the Java reader."""
        settings = {"url": self.url, "username": self.username, "password": self.password}
        return {name: value for name, value in settings.items() if value is not None}


def registry_of(project: Project, stack: str) -> SchemaRegistry | None:
    """Return the registry of ``stack``; None if no registry is set. Refuse an invalid setting."""
    return registry_from(stack, stack_settings(project, stack))


def registry_from(stack: str, settings: Mapping[str, Any]) -> SchemaRegistry | None:
    """Return the registry in ``settings`` (named as in ``Pulumi.<stack>.yaml``, secrets decrypted)."""
    value = settings.get(SCHEMA_REGISTRY)
    if value is None:
        return None
    try:
        parsed = json.loads(value) if isinstance(value, str) and value.startswith("{") else value
    except json.JSONDecodeError:
        parsed = None
    registry = {"url": parsed} if isinstance(parsed, str) else parsed
    if (
        not isinstance(registry, dict)
        or not set(registry) <= {*_KEYS}
        or not all(isinstance(setting, str) for setting in registry.values())
        or not registry.get("url", "").startswith(("http://", "https://"))
    ):
        raise Refusal(
            f"stacks/Pulumi.{stack}.yaml: {SCHEMA_REGISTRY}: expected a URL such as http://localhost:8081, "
            f"or a mapping of {', '.join(_KEYS)}"
        )
    return SchemaRegistry(**registry)
