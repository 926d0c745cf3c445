"""Reads Pulumi's state for the provider, which judges deletions that no program has judged."""

from __future__ import annotations

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import SET_TYPE, deployed_stack
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.plan.deployed_stack import DeployedStack


def recorded_state(stack: str) -> DeployedStack | None:
    """Return the state of ``stack`` of the project in this folder; None if no program of topicwarden deploys it.

    Raises Refusal if the state cannot be read.
    """
    try:
        project = find_project()
    except Refusal:
        return None
    resources = PulumiEngine(project, stack).resources()
    ours = any(resource["type"] == SET_TYPE for resource in resources)
    return deployed_stack(resources) if ours else None
