"""The Pulumi program: what ``stacks/__main__.py`` runs."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.topic_set import TopicSet
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import SETTINGS, Connection, connection_from
from topicwarden.plan.shrinking import refused_changes
from topicwarden.policies.check import check
from topicwarden.problem import Problem, Refusal
from topicwarden.project import find_project


def deploy() -> None:
    """Declares every topic of the selected stack; ends the preview where a declaration or a change may not be.

    Nothing is registered with the engine before everything was judged, so a refusal has no half effect.
    """
    stack = pulumi.get_stack()
    try:
        project = find_project()
        checked = check(project, [stack])
        _stop_at(checked.errors)
        declarations = checked.declarations[stack]
        settings = {name: value for name in SETTINGS if (value := _setting(name)) is not None}
        connection = connection_from(project, stack, settings)
        with open_cluster(connection) as cluster:
            live = cluster.snapshot({held.topic.name for held in declarations})
    except Refusal as refusal:
        raise pulumi.RunError(str(refusal)) from None
    _stop_at(refused_changes(declarations, live))
    topics = TopicSet(stack, (held.topic for held in declarations), _provider(settings, connection))
    pulumi.export("topics", topics.names)


def _stop_at(errors: Sequence[Problem]) -> None:
    if errors:
        raise pulumi.RunError("\n".join(map(str, errors)))


def _setting(name: str) -> str | None:
    namespace, _, key = name.partition(":")
    return pulumi.Config(namespace).get(key)


def _provider(settings: dict[str, str], connection: Connection) -> kafka.Provider | None:
    """The sandbox's ports are not in the stack's settings; any other cluster's provider reads those itself."""
    if "kafka:bootstrapServers" in settings:
        return None
    return kafka.Provider("sandbox", bootstrap_servers=list(connection.bootstrap_servers), tls_enabled=connection.tls)
