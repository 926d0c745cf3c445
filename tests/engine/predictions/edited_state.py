"""The state of a stack: change it by hand, as a person or a crash may have done."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.engine.predictions.conftest import Deployment
from topicwarden.deploy.stack_state import DOMAIN_TYPE, SET_TYPE

TOPIC = "kafka:index/topic:Topic"
STACK = "urn:pulumi:dev::topicwarden"
PROVIDER = f"{STACK}::pulumi:providers:kafka::sandbox"
REGISTERED = f"{STACK}::{SET_TYPE}${DOMAIN_TYPE}${TOPIC}::held.v1"


def imported(current: Deployment, resource: str, topic: str) -> str:
    """Import ``topic`` as a second resource, unprotected; return its URN."""
    options = f"--protect=false --yes --generate-code=false --provider sandbox={PROVIDER}"
    current.pulumi(f"import {TOPIC} {resource} {topic} {options}")
    return f"{STACK}::{TOPIC}::{resource}"


def state(current: Deployment) -> dict[str, Any]:
    exported: dict[str, Any] = json.loads(current.pulumi("stack export"))
    return exported


def edited(current: Deployment, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the resources of the state by hand."""
    exported = state(current)
    edit(exported["deployment"]["resources"])
    file = current.project.root / "edited.json"
    file.write_text(json.dumps(exported))
    current.pulumi(f"stack import --file {file}")
