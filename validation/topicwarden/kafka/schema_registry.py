"""The Schema Registry of a stack: ``topicwarden:schemaRegistry`` in ``Pulumi.<stack>.yaml``.

A URL, or a mapping of ``url`` and, where it is protected, ``username`` and ``password`` (HTTP's basic
authentication), the password encrypted by Pulumi::

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
    """Where a registry is, by Confluent's REST interface. The password is kept out of ``repr``."""

    url: str
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.url})"

    def for_java(self) -> dict[str, str]:
        """What the reader is told."""
        told = {"url": self.url, "username": self.username, "password": self.password}
        return {name: value for name, value in told.items() if value is not None}


def registry_of(project: Project, stack: str) -> SchemaRegistry | None:
    """The registry of ``stack``; None where it names none. Refuses a setting that is none."""
    return registry_from(stack, stack_settings(project, stack))


def registry_from(stack: str, settings: Mapping[str, Any]) -> SchemaRegistry | None:
    """The registry that ``settings`` (names as in ``Pulumi.<stack>.yaml``, secrets in plain) describe."""
    written = settings.get(SCHEMA_REGISTRY)
    if written is None:
        return None
    try:
        held = json.loads(written) if isinstance(written, str) and written.startswith("{") else written
    except json.JSONDecodeError:
        held = None
    told = {"url": held} if isinstance(held, str) else held
    if (
        not isinstance(told, dict)
        or not set(told) <= {*_KEYS}
        or not all(isinstance(value, str) for value in told.values())
        or not told.get("url", "").startswith(("http://", "https://"))
    ):
        raise Refusal(
            f"stacks/Pulumi.{stack}.yaml: {SCHEMA_REGISTRY}: expected a URL such as http://localhost:8081, "
            f"or a mapping of {', '.join(_KEYS)}"
        )
    return SchemaRegistry(**told)
