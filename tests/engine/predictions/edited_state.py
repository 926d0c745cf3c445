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


def imported(held: Deployment, resource: str, topic: str) -> str:
    """Import ``topic`` as a second resource, unprotected; return its URN."""
    options = f"--protect=false --yes --generate-code=false --provider sandbox={PROVIDER}"
    held.pulumi(f"import {TOPIC} {resource} {topic} {options}")
    return f"{STACK}::{TOPIC}::{resource}"


def state(held: Deployment) -> dict[str, Any]:
    exported: dict[str, Any] = json.loads(held.pulumi("stack export"))
    return exported


def edited(held: Deployment, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the resources of the state by hand."""
    exported = state(held)
    edit(exported["deployment"]["resources"])
    file = held.project.root / "edited.json"
    file.write_text(json.dumps(exported))
    held.pulumi(f"stack import --file {file}")
