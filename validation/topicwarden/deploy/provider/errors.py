"""One line for an error of Kafka: the resource, its line of YAML, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from topicwarden.deploy.provider.resource_urn import ResourceUrn
from topicwarden.kafka.request_error import RequestError
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.project import find_project
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve

_DENIED = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
_RIGHTS = (
    "a new topic needs Create, changed settings AlterConfigs, more partitions Alter, a deletion Delete, and every "
    "topic Describe and DescribeConfigs"
)


def resource_error(error: Exception, urn: str) -> str:
    """Return the line for ``error`` of the resource ``urn``, which a Pulumi program runs in this folder."""
    name = ResourceUrn(urn).name
    place = _places(ResourceUrn(urn).stack).get(name)
    return f"{place}: {name}: {reason_of(error)}" if place else f"{name}: {reason_of(error)}"


def reason_of(error: Exception) -> str:
    """Return what is wrong, without the resource."""
    if not isinstance(error, RequestError):
        return str(error)
    if error.name in _DENIED:
        needed = f"grant {error.right} on the topic" if error.right else _RIGHTS
        return f"Kafka denies this user the change: {error}; {needed}"
    if error.passing:
        return f"Kafka has not done this in time: {error}; run the command again"
    return f"Kafka refuses: {error}"


@cache
def _places(stack: str) -> Mapping[str, Location]:
    """Return where each topic of ``stack`` is declared; empty outside of a project, such as for another program."""
    try:
        project = find_project(Path.cwd())
    except Refusal:
        return {}
    declarations = resolve(load(project.topics, project.root, project.stack_names()), stack).declarations
    return {declaration.topic.name: declaration.places.at(()) for declaration in declarations}
