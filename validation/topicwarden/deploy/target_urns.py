"""The URNs that restrict a command of Pulumi to some topics of a stack."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.deploy.stack_state import DOMAIN_TYPE, SET_TYPE, TOPIC_PATH
from topicwarden.plan.deployed_stack import DeployedStack


def target_urns(
    engine: PulumiEngine,
    domains: Iterable[str],
    names: Iterable[str],
    deployed: DeployedStack,
    existing: Collection[str],
) -> list[str]:
    """Return the URNs of the topics ``names`` as ``TopicResources`` registers them, with their new parents.

    ``domains`` are the domains of the declared topics among them. ``deployed`` has their other resources. ``existing``
    are the URNs in the state: an existing parent is no target, because the engine would delete all below it that the
    program does not register (Pulumi's ``determineAllowedResourcesToDeleteFromTargets``).
    """
    stack, project = engine.stack.rpartition("/")[2], project_settings(engine.project)["name"]
    prefix = f"urn:pulumi:{stack}::{project}::"
    parents = [
        f"{prefix}pulumi:pulumi:Stack::{project}-{stack}",
        f"{prefix}{SET_TYPE}::{stack}",
        *(f"{prefix}{SET_TYPE}${DOMAIN_TYPE}::{stack}/{domain or 'topics'}" for domain in sorted(set(domains))),
    ]
    provider = f"{prefix}pulumi:providers:kafka::"
    return [
        *(urn for urn in parents if urn not in existing),
        *([] if any(urn.startswith(provider) for urn in existing) else [f"{provider}*"]),
        *(f"{prefix}{TOPIC_PATH}::{name}" for name in sorted(names)),
        *(each.urn for duplicates in deployed.duplicates.values() for each in duplicates),
    ]
