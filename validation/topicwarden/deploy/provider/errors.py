"""One line for an error of Kafka: the resource, its line of YAML, what is wrong, and what to do."""

from __future__ import annotations

from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.model.deployed_stack import ResourceUrn
from topicwarden.model.problem import Location

_DENIED = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")
_PERMISSIONS = (
    "a new topic needs Create, changed settings AlterConfigs, more partitions Alter, a deletion Delete, and every "
    "topic Describe and DescribeConfigs"
)


def resource_error(
    error: Exception, urn: str, location: Location | None, title: str | None = None, permission: str | None = None
) -> str:
    """Return the line for ``error`` of the resource ``urn``, which is declared at ``location``.

    ``title`` names the resource if its own name is a hash. ``permission``: what a write of this type needs, such as
    "Alter on the cluster"; None for a topic.
    """
    line = f"{title or ResourceUrn(urn).name}: {reason_of(error, permission)}"
    return f"{location}: {line}" if location else line


def reason_of(error: Exception, permission: str | None = None) -> str:
    """Return what is wrong, without the resource."""
    if not isinstance(error, RequestError):
        return str(error)
    if error.name in _DENIED:
        needed = _PERMISSIONS
        if permission or error.permission:
            needed = f"grant {permission or f'{error.permission} on the topic'}"
        return f"Kafka denies this user the change: {error}; {needed}"
    if error.passing:
        return f"Kafka has not done this in time: {error}; run the command again"
    return f"Kafka refuses: {error}"
